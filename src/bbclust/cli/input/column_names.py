"""What the name of a column says about it: words that people give to identifiers, dates, labels.

A name is a hint and never enough by itself: the rules of ``audit_rules.py`` look at the values
too.
"""

from __future__ import annotations

import re
from enum import Enum


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that make a number a name, at the end or the beginning of the name of a column.
_ID_WORDS = _words("guid id identifier ids uid uuid")
# Whole names of columns that count or index rows.
_INDEX_NAMES = _words(
    """
    idx index key no nr obs record row row_id row_name row_names row_no row_nr row_number rowid
    rowname rownames rownum s_no seqn serial serial_no serial_number sno sr_no
    """
)
# Numbers of these are names of them: "invoice no", "accountnumber", "custkey".
_THINGS = _words(
    """
    accession account acct admission animal applicant application article asset author batch bill
    block board booking branch building campaign card case cell change check cheque claim client
    company complaint contact contract country county course cust customer delivery department
    device district doc document donor driver element emp employee encounter entry event
    experiment facility family file film flight game gene guest hospital host hotel house
    household image incident individual inspection instance institution invoice item job lead
    licence license line listing loan location lot machine match material meeting member merchant
    message meter mouse movie node object offer order org organization owner page parcel part
    participant party passenger patient payment pers person phone photo plant plate player plot
    point policy position post probe prod product profile project property provider purchase
    receipt record region reservation respondent restaurant review ride room route run sale sample
    school seller sensor sequence serial series session shipment shop site song specimen staff
    state station stock store student study subj subject subscriber supplier survey tag task tax
    teacher team tenant ticket track tracking tract train trans transaction trial trip truck tweet
    txn unit user vehicle vendor visit visitor ward warehouse well worker zone
    """
)
# After one of the above: what makes its number a name.
_NUMBER_WORDS = _words("code id identifier key nbr no nr num number ref reference")
# One of these alone, in the singular: the plural counts them.
_ALONE = _words(
    """
    client cust customer employee invoice member participant passenger patient person respondent
    sku student subj subject user
    """
)
# The same, but they may measure something.
_ALONE_DOUBTFUL = _words(
    """
    account animal batch block case code country county device district encounter household item
    line mouse order player plot product rank ranking record region room run sample sensor site
    specimen state station store subjectno team ticket tract transaction unit
    """
)
# Numbers that are codes wherever they stand last in a name.
_CODES = _words(
    """
    areacode asin barcode cellphone cep countrycode cusip ean fax fips geoid gtin hash iban imei
    imsi isbn issn mobilenumber mrn msisdn naics npi phone phonenumber pincode plz postal
    postalcode postcode sku ssn telephone upc vin zip zip5 zipcode
    """
)
# Names that count or measure things, whatever things they name.
_COUNTS = _words(
    """
    age amount avg count freq max mean median min n num number of pct per percent rate ratio share
    size std sum total
    """
)
_DATE_WORDS = _words("birthdate birthday date datetime dob timestamp")
# Glued to "date": "orderdate".
_BEFORE_DATE = _words(
    """
    admission birth booking created discharge due end event exit hire invoice issue join obs order
    purchase release report sale sales ship start test trans transaction visit
    """
)
# First or last in names of times.
_TIME_WORDS = _words(
    """
    at created ctime date datetime epoch modified posix posixtime t time timestamp ts unix
    unixtime updated utc when
    """
)
# Differences of dates, which are measurements.
_NOT_DATES = _words("count days delta diff difference duration hours since to")
_YEAR_WORDS = _words("annee anno built established founded jahr year yr yyyy")
# Parts of dates, and the numbers they take.
_DATE_PARTS = {
    "month": (1, 12),
    "day": (1, 31),
    "hour": (0, 24),
    "minute": (0, 59),
    "weekday": (0, 7),
    "dow": (0, 7),
    "dayofweek": (0, 7),
    "quarter": (1, 4),
    "week": (0, 53),
    "second": (0, 60),
    "mnth": (1, 12),
    "mo": (1, 12),
    "hr": (0, 24),
    "dayofyear": (0, 366),
    "season": (0, 4),
    "doy": (0, 366),
    "weekofyear": (0, 53),
}

# Whole names of columns of known classes.
_LABELS = _words(
    """
    clase class classes classification cluster clusters cultivar diagnosis genotype groundtruth gt
    klasse label labels outcome phenotype segment species subspecies target true_label truth
    variety
    """
)
# Of these the last word is enough; "social class" and "market segment" may be properties of a
# row.
_LABELS_LAST = _words("classification cluster diagnosis label outcome species target")
# Last words of columns that may be known classes.
_LABELS_DOUBTFUL = _words(
    """
    activity admitted anomaly approved attrition bankrupt bankruptcy canceled cancelled category
    churn churned class clicked conversion converted cultivar dead death deceased decision default
    defect died disease event exited failure fault faulty fraud grade group hired kind loan_status
    malignant occupancy outlier placed placement purchased quality rating readmitted recurrence
    relapse response result revenue_flag segment sentiment spam stage status stroke subscribed
    subtype survived tier type variety verdict y
    """
)


class Hint(Enum):
    """What a name says, and how plainly."""

    NO = 0
    PERHAPS = 1
    YES = 2


def words_of(name: str) -> list[str]:
    """The words of a name in lower case.

    Examples
    --------
    >>> words_of("ZIPCode"), words_of("customer_id 2"), words_of("invoiceNo.")
    (['zip', 'code'], ['customer', 'id'], ['invoice', 'no'])
    """
    split = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    split = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", split)
    return re.findall(r"[^\W\d_]+", split.lower())


def named_like_id(name: str) -> bool:
    """Whether a name says that its numbers only tell rows apart.

    Examples
    --------
    >>> names = ("ID", "customer_id", "customerId", "CUSTOMERID", "row", "humid", "num_customer")
    >>> [named_like_id(name) for name in names]
    [True, True, True, True, True, False, False]
    """
    return _whole(name) in _INDEX_NAMES or says_identifier(name) is Hint.YES


def says_identifier(name: str) -> Hint:
    """Whether numbers under this name are names: of people, things, places, accounts."""
    words = words_of(name)
    if not words:
        return Hint.NO
    if not _ID_WORDS.isdisjoint((words[0], words[-1])):
        return Hint.YES
    if _COUNTS & set(words[:-1]) or words[-1] in _COUNTS - {"number", "num"}:
        return Hint.NO
    if words[-1] in _CODES or (words[-1] in _NUMBER_WORDS and words[-2:-1] and _thing(words[-2])):
        return Hint.YES
    if len(words) == 1 and (words[0] in _ALONE or _glued(words[0])):
        return Hint.YES
    if len(words) > 1 and words[-1] in ("code", "codes", "key"):
        return Hint.YES
    if len(words) > 1 and words[-1] in ("no", "nr", "number"):
        return Hint.PERHAPS
    alone = len(words) == 1 and words[0] in _ALONE_DOUBTFUL
    return Hint.PERHAPS if alone or words[-1] in ("rank", "ranking") else Hint.NO


def says_date(name: str) -> Hint:
    """Whether numbers under this name are dates; perhaps, if they are of some time."""
    words = words_of(name)
    if not words or (len(words) > 1 and _NOT_DATES & set(words)):
        return Hint.NO
    glued = words[-1].endswith("date") and words[-1].removesuffix("date") in _BEFORE_DATE
    if glued or words[-1] in _DATE_WORDS or words[0] in _DATE_WORDS:
        return Hint.YES
    return Hint.PERHAPS if _TIME_WORDS & {words[0], words[-1]} else Hint.NO


def says_year(name: str) -> bool:
    """Whether numbers under this name may be years."""
    return bool(_YEAR_WORDS & set(words_of(name)))


def range_of_date_part(name: str) -> tuple[int, int] | None:
    """The range of the part of a date that a name speaks of, such as 1 to 12 for a month."""
    words = words_of(name)
    if not words or "per" in words:
        return None
    return _DATE_PARTS.get(words[-1], _DATE_PARTS.get(words[0]))


def says_label(name: str) -> Hint:
    """Whether a few values under this name are known classes."""
    words = words_of(name)
    if not words:
        return Hint.NO
    if _whole(name) in _LABELS or words[-1] in _LABELS_LAST:
        return Hint.YES
    ends = {words[0], words[-1]}
    return Hint.PERHAPS if _LABELS_DOUBTFUL & ends or "target" in words else Hint.NO


def _whole(name: str) -> str:
    return re.sub(r"[\s_.-]+", "_", name.strip().lower()).strip("_")


def _thing(word: str) -> bool:
    return word in _THINGS


def _glued(word: str) -> bool:
    """Whether a word is a thing with its number: userid, accountno, custkey."""
    return any(
        word.endswith(end) and word.removesuffix(end) in _THINGS for end in sorted(_NUMBER_WORDS)
    )
