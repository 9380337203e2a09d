"""Files that are not what they should be: one sentence, no crash, no memory, nothing executed."""

import hashlib
import io
import json
import os
import pickle
import re
import struct
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest

from bbclust import BBC, load_model
from bbclust.datasets import load_iris
from bbclust.io.archive import (
    MAX_EXPANSION,
    Archive,
    ArchiveError,
    pack,
    read_archive,
    unpack,
    write_archive,
)
from bbclust.io.model_file import read_model

IRIS = load_iris().data


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """The bytes of a model file."""
    path = tmp_path_factory.mktemp("good") / "model.bbc"
    BBC(3, n_replicas=40, votes="all", random_state=0).fit(IRIS).save(path)
    return path.read_bytes()


@pytest.fixture
def refused(tmp_path):
    """Writes bytes to a file and loads it: the sentence with which it is refused."""
    path = tmp_path / "model.bbc"

    def load(data):
        path.write_bytes(data)
        with pytest.raises(ArchiveError) as raised:
            load_model(path)
        assert isinstance(raised.value, ValueError)
        sentence = str(raised.value)
        assert sentence.startswith(f"{path} cannot be read as a bbclust model: ")
        assert re.fullmatch(r"[^\n]+[^.]\.", sentence), sentence
        return sentence

    return load


def reseal(data):
    """The checksum made to match, as an attacker would."""
    return data[:-64] + hashlib.sha256(data[:-64]).hexdigest().encode()


def members_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zip_of(members, method=zipfile.ZIP_DEFLATED):
    """An archive of any members, given as pairs."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", method) as archive:
        warnings.simplefilter("ignore")  # of two members of the same name
        for name, content in members:
            archive.writestr(name, content)
        archive.comment = b"bbclust sha256 " + b"0" * 64
    return reseal(buffer.getvalue())


def edited(data, edit):
    """The file with its header and arrays changed by a function, and packed again."""
    archive = unpack(data, "model", 1)
    header, arrays = json.loads(json.dumps(archive.header)), dict(archive.arrays)
    edit(header, arrays)
    return pack(Archive("model", 1, header, arrays))


# --- damage ---------------------------------------------------------------------------------------


def corrupt(data, generator):
    """The file with one random damage: flipped bits, a cut, an insertion, parts exchanged."""
    kind = generator.integers(5)
    a, b = sorted(int(i) for i in generator.choice(len(data), size=2, replace=False))
    if kind == 0:
        return data[:a] + bytes([data[a] ^ int(generator.integers(1, 256))]) + data[a + 1 :]
    if kind == 1:
        return data[:a] if generator.integers(2) else data[a + 1 :]
    if kind == 2:
        return data[:a] + generator.bytes(int(generator.integers(1, 200))) + data[a:]
    if kind == 3:
        return data[:a] + data[b:]
    members = list(members_of(data).items())
    i, j = generator.choice(len(members), size=2, replace=False)
    members[i], members[j] = (members[i][0], members[j][1]), (members[j][0], members[i][1])
    return zip_of(members)[:-64] + data[-64:]


def test_a_thousand_damaged_files_are_refused(good, refused, seed):
    generator = np.random.default_rng(seed)
    assert load_ok(good)
    for _ in range(1000):
        damaged = corrupt(good, generator)
        assert damaged != good
        refused(damaged)


def load_ok(data):
    return unpack(data, "model", 1).header["estimator"] == "BBC"


def test_every_single_byte_matters(good):
    for i in range(len(good)):
        with pytest.raises(ArchiveError):
            unpack(good[:i] + bytes([good[i] ^ 0x20]) + good[i + 1 :], "model", 1)


def test_damage_with_a_matching_checksum_never_crashes(good, tmp_path, seed):
    """Some such files are valid (a digit of a centre): then they must work."""
    generator = np.random.default_rng(seed)
    path = tmp_path / "model.bbc"
    stored = zip_of(members_of(good).items(), zipfile.ZIP_STORED)  # damage reaches the content
    outcomes = {"refused": 0, "loaded": 0}
    for i in range(1000):
        path.write_bytes(reseal(corrupt((good, stored)[i % 2], generator)))
        try:
            model = load_model(path)
        except ArchiveError:
            outcomes["refused"] += 1
        else:
            assert model.predict_proba(np.zeros((3, 4))).shape == (3, 3)
            outcomes["loaded"] += 1
    assert outcomes["refused"] > 500
    assert outcomes["loaded"] > 0  # 18 of them on average: none once in 1e8 runs


# --- other files ----------------------------------------------------------------------------------

PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + bytes(200)


@pytest.mark.parametrize(
    "data", [b"", b"x", b"PK", bytes(10_000), PNG, pickle.dumps([1] * 100), b"{}" * 100]
)
def test_files_of_other_programs_are_refused(data, refused):
    assert "something else" in refused(data)


def test_an_npz_of_something_else_is_refused(refused):
    buffer = io.BytesIO()
    np.savez(buffer, a=np.arange(100))
    assert "something else" in refused(buffer.getvalue())
    assert "(KeyError)" in refused(zip_of([("a.npy", buffer.getvalue())]))


@pytest.mark.parametrize("content", [b"null", b"[]", b"{}", b'{"format": "other"}', b"1" * 5000])
def test_a_header_of_something_else_is_refused(content, refused):
    refused(zip_of([("header.json", content)]))


def test_a_folder_and_a_missing_file_are_not_models(tmp_path):
    with pytest.raises(ArchiveError, match="it is not a file"):
        load_model(tmp_path)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "nowhere.bbc")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ArchiveError, match="it is not a file"):
        load_model(tmp_path / "pipe")


def test_a_sealed_file_of_another_kind_is_refused(refused):
    assert "another kind, 'cell'" in refused(pack(Archive("cell", 1, {}, {})))


def test_a_newer_schema_says_so(good, refused):
    archive = unpack(good, "model", 1)
    newer = Archive("model", 2, archive.header, archive.arrays)
    assert "schema 2 and this version of bbclust knows those up to 1" in refused(pack(newer))


@pytest.mark.parametrize("schema", [0, -1, True, None, "1", 1.5])
def test_an_impossible_schema_is_refused(schema, refused):
    refused(pack(Archive("model", schema, {}, {})))


# --- attackers ------------------------------------------------------------------------------------


def takes_memory(size, function):
    """Whether a call takes as much memory as it would if it believed a file that claims ``size``.

    A tenth of that is millions of bytes, and what other threads of the process allocate meanwhile
    is counted too but takes far less. The least of three, for imports and caches.
    """
    assert size >= 50_000_000
    peaks = []
    for _ in range(3):
        tracemalloc.start()
        try:
            function()
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    return min(peaks) > size / 10


@pytest.mark.measures
def test_memory_that_is_taken_is_noticed():
    """And given back at once: of bytes, of arrays, and of arrays that nobody writes to."""
    for take in (
        bytes,
        lambda size: np.ones(size, dtype=np.int8),
        lambda size: np.empty(size // 8),
    ):
        assert takes_memory(50_000_000, lambda take=take: len(take(50_000_000)))
    assert not takes_memory(50_000_000, lambda: len(bytes(1_000_000)))


@pytest.mark.measures
def test_a_bomb_is_not_unpacked(refused):
    bomb = zip_of([("header.json", bytes(50_000_000))])
    assert len(bomb) < 100_000
    assert not takes_memory(50_000_000, lambda: refused(bomb))
    assert "far more than fits" in refused(bomb)


@pytest.mark.measures
@pytest.mark.parametrize("claimed", [10, 100_000])
def test_a_bomb_that_lies_about_its_size_is_not_unpacked(claimed, refused):
    """The sizes in both directories say that little is inside."""
    data = bytearray(zip_of([("header.json", bytes(50_000_000))]))
    true = struct.pack("<I", 50_000_000)
    for _ in range(2):
        i = data.index(true)
        data[i : i + 4] = struct.pack("<I", claimed)
    lying = reseal(bytes(data))
    assert not takes_memory(50_000_000, lambda: refused(lying))


@pytest.mark.measures
def test_members_that_share_their_bytes_are_not_all_unpacked(refused):
    """A thousand entries of the directory point to one member."""
    data = zip_of([("header.json", bytes(1_000_000))])
    start = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    entry = data[start:end]
    entries = b"".join(
        entry.replace(b"header.json", b"%011d" % i) if i else entry for i in range(1000)
    )
    directory = struct.pack("<HHII", 1000, 1000, len(entries), start)
    many = reseal(data[:start] + entries + b"PK\x05\x06\0\0\0\0" + directory + data[-81:])
    assert zipfile.ZipFile(io.BytesIO(many)).infolist()[999].filename == "00000000999"
    assert not takes_memory(1_000_000_000, lambda: refused(many))


def test_two_members_of_one_name_are_refused(good, refused):
    members = list(members_of(good).items())
    assert "same name" in refused(zip_of([*members, members[1]]))


def test_members_that_do_not_belong_there_are_refused(good, refused):
    members = [*members_of(good).items(), ("../evil.py", b"print()")]
    assert "'../evil.py', which does not belong there" in refused(zip_of(members))


def test_members_that_are_missing_are_noticed(good, refused):
    members = members_of(good)
    for name in members:
        refused(zip_of([item for item in members.items() if item[0] != name]))


def with_described(data, name, dtype, shape, content=None):
    """The file with another description of one array in its header, and its bytes if given."""
    members = members_of(data)
    head = json.loads(members["header.json"])
    head["arrays"][name] = [dtype, shape]
    members["header.json"] = json.dumps(head).encode()
    if content is not None:
        members[f"{name}.npy"] = content
    return zip_of(members.items())


@pytest.mark.measures
@pytest.mark.parametrize(
    "shape",
    [
        [2**62, 2**62, 8],
        [2**39, 2**39, 2**39],
        [0, 2**39, 2**39, 2**39],
        [10**400],
        [2**29],
        [2**14, 2**15],
        [-1],
        [-40, -3, 4],
        [40.0, 3, 4],
        [True],
        [1] * 70,
        ["40", 3, 4],
        "40",
        None,
        {},
        [],
        [4, 3, 40],
    ],
)
def test_absurd_shapes_are_refused_without_memory(shape, good, refused):
    data = with_described(good, "replica_centers_", "<f8", shape)
    assert not takes_memory(2**32, lambda: refused(data))
    assert "cannot be unpacked" not in refused(data)  # as where NumPy was asked for that much


def test_arrays_of_objects_are_refused_and_not_unpickled(good, refused, tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    buffer = io.BytesIO()
    np.save(buffer, np.array([Evil()], dtype=object), allow_pickle=True)
    for dtype in ("|O", "O", "<f8", "|V8", "<U4", "<M8[s]", ["<f8"], {"a": 1}, None, 5):
        refused(with_described(good, "origin", dtype, [1], buffer.getvalue()))
    refused(with_described(good, "origin", "<f8", [4], buffer.getvalue()))
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"a":' * 50_000, b"9" * 100_000, b"\xff"])
def test_headers_made_to_exhaust_the_parser_are_refused(content, refused):
    data = zip_of([("header.json", content), ("padding", os.urandom(5000))])
    refused(data)


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": -Infinity}', '{"a": 1, "a": 2}'])
def test_headers_outside_the_rules_of_json_are_refused(text, refused):
    assert "its header" in refused(zip_of([("header.json", text.encode())]))


def test_flags_are_true_or_false(good, refused):
    members = members_of(good)
    members["occupied.npy"] = members["occupied.npy"][:-1] + b"\x07"
    assert "neither true nor false" in refused(zip_of(members.items()))


def set_entry(name, index, value):
    def edit(header, arrays):
        arrays[name][index] = value

    return edit


def set_header(name, value):
    return lambda header, arrays: header.__setitem__(name, value)


def set_parameter(name, value):
    return lambda header, arrays: header["parameters"].__setitem__(name, value)


def set_number(name, value):
    return lambda header, arrays: header["numbers"].__setitem__(name, value)


def set_array(name, function):
    return lambda header, arrays: arrays.__setitem__(name, function(arrays[name]))


EDITS = {
    "NaN in a centre": set_entry("replica_centers_", (0, 0, 0), np.nan),
    "infinity in a centre": set_entry("replica_centers_", (0, 0, 0), np.inf),
    "NaN in the origin": set_entry("origin", 0, np.nan),
    "centres farther than numbers go": lambda header, arrays: arrays.update(
        origin=arrays["origin"] - 1.7e308, replica_centers_=arrays["replica_centers_"] + 1.7e308
    ),
    "centres whose squares are infinite": set_array("replica_centers_", lambda a: 1e200 * a),
    "NaN in a reference centre": set_entry("reference_centers_", (0, 0), np.nan),
    "replicas without clusters": set_entry("occupied", slice(None), False),
    "another number of replicas": set_array("occupied", lambda a: a[1:]),
    "no replica": set_array("replica_centers_", lambda a: a[:0]),
    "centres in a plane": set_array("replica_centers_", lambda a: a[0]),
    "a single centre": set_array("replica_centers_", lambda a: a[0, 0, 0]),
    "whole numbers as centres": set_array("replica_centers_", lambda a: a.astype(np.int64)),
    "too many clusters": set_array("replica_centers_", lambda a: np.zeros((1, 32_768, 1))),
    "one feature less": set_array("origin", lambda a: a[1:]),
    "a prior without means": lambda header, arrays: arrays.pop("prior_means"),
    "a prior of one number": set_array("prior_means", lambda a: a[0, 0]),
    "a prior without components": set_array("prior_means", lambda a: a[:0]),
    "NaN in the prior": set_entry("prior_factor_rows", (0, 0), np.nan),
    "negative weights": set_array("prior_weights", lambda a: -a),
    "weights of zero": set_array("prior_weights", lambda a: 0 * a),
    "weights that overflow": set_array("prior_weights", lambda a: a + 1e308),
    "components outside the rows": set_entry("prior_factor_offsets", 1, 2**62),
    "components before the rows": set_entry("prior_factor_offsets", 1, -(2**62)),
    "components that overlap": set_array("prior_factor_offsets", lambda a: a[[0, 2, 1, 3]]),
    "components that start late": set_entry("prior_factor_offsets", 0, 1),
    "components of too high a rank": set_array(
        "prior_factor_offsets", lambda a: np.array([0, 12, 12, 12])
    ),
    "an array nobody knows": lambda header, arrays: arrays.__setitem__("a", np.zeros(3)),
    "no reference": lambda header, arrays: arrays.pop("reference_centers_"),
    "a prior that is and is not there": set_header("unstored_prior", "KernelPrior"),
    "a prior of no kind": set_header("prior", {"a": 1}),
    "a prior of an unknown kind": set_header("prior", {"kind": "KernelDensity"}),
    "a prior in a list": set_header("prior", ["StudentMixture"]),
    "degrees of freedom below zero": set_header("prior", {"kind": "StudentMixture", "df": -1.0}),
    "degrees of freedom in words": set_header("prior", {"kind": "StudentMixture", "df": "4"}),
    "carried clusters that are none": set_header(
        "prior", {"kind": "CarriedMixture", "matched": [0], "new_clusters": []}
    ),
    "carried clusters in words": set_header(
        "prior",
        {
            "kind": "CarriedMixture",
            "matched": [["a", "b"]],
            "new_clusters": [],
            "vanished_clusters": [],
        },
    ),
    "carried clusters in threes": set_header(
        "prior",
        {
            "kind": "CarriedMixture",
            "matched": [[0, 1, 2]],
            "new_clusters": [],
            "vanished_clusters": [],
        },
    ),
    "a kind of prior without a prior": lambda header, arrays: (
        header.update(prior={"kind": "CarriedMixture"}),
        [arrays.pop(name) for name in list(arrays) if name.startswith("prior_")],
    ),
    "an unknown estimator": set_header("estimator", "Unpickler"),
    "an estimator of Python": set_header("estimator", "__class__"),
    "no estimator": set_header("estimator", None),
    "a list of estimators": set_header("estimator", ["BBC"]),
    "no parameters": set_header("parameters", None),
    "parameters in a list": set_header("parameters", ["n_clusters"]),
    "unstored parameters in a list": set_header("unstored_parameters", []),
    "an unstored parameter without a name": set_header("unstored_parameters", {"prior": 1}),
    "a parameter twice": set_header("unstored_parameters", {"n_clusters": "int"}),
    "an unknown unstored parameter": set_header("unstored_parameters", {"command": "str"}),
    "an unknown parameter": set_parameter("command", "rm"),
    "a parameter of Python": set_parameter("__class__", "BBC"),
    "a parameter that is a table": set_parameter("prior", {"a": 1}),
    "a parameter of the wrong kind": set_parameter("n_clusters", "three"),
    "an impossible parameter": set_parameter("prior_weight", 2),
    "a parameter beyond floats": set_parameter("prior_scale", 10**400),
    "no threads": set_parameter("n_jobs", 0),
    "half a precision": set_header("dtype", "float16"),
    "three names for four features": set_header("feature_names", ["a", "b", "c"]),
    "numbers as names": set_header("feature_names", [1, 2, 3, 4]),
    "one name": set_header("feature_names", "abcd"),
    "a word as a result": set_number("mean_entropy_", "0.1"),
    "true as a result": set_number("n_iter_", True),
    "nothing as a count": set_number("n_iter_", None),
    "a result nobody knows": set_number("__dict__", 1.0),
    "numbers in a list": set_header("numbers", []),
    "a pair of one": set_header("worst_pair_", [0]),
    "a pair outside the clusters": set_header("worst_pair_", [0, 3]),
    "a pair of words": set_header("worst_pair_", ["a", "b"]),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_impossible_content_is_refused(edit, good, refused):
    refused(edited(good, edit))


def test_the_file_that_is_edited_in_these_tests_is_good(good, tmp_path):
    path = tmp_path / "model.bbc"
    path.write_bytes(edited(good, lambda header, arrays: None))
    assert load_model(path).n_replicas_ == 40
    assert read_model(path).parameters["n_clusters"] == 3


# --- the container --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(0),
        np.zeros((0, 3)),
        np.array(5.0),
        np.arange(6, dtype=np.int32).reshape(2, 3).T,
        np.arange(6, dtype=">f8"),
        np.array([True, False]),
        np.array([np.nan, np.inf, -0.0], dtype=np.float32),
    ],
)
def test_arrays_come_back_as_they_were(values, tmp_path):
    path = tmp_path / "file"
    write_archive(path, Archive("test", 3, {"a": [1, None]}, {"values": values}))
    found = read_archive(path, "test", 3)
    assert found.header == {"a": [1, None]}
    assert found.schema == 3
    mine = found.arrays["values"]
    assert mine.dtype == values.dtype.newbyteorder("=")
    assert mine.dtype.isnative
    np.testing.assert_array_equal(mine, values)
    assert mine.flags.writeable
    np.testing.assert_array_equal(np.load(path)["values"], values)


def test_arrays_that_shrink_too_well_are_not_compressed():
    zeros = Archive("test", 1, {}, {"zeros": np.zeros(100_000)})
    assert len(pack(zeros)) * MAX_EXPANSION > 800_000
    assert (unpack(pack(zeros), "test", 1).arrays["zeros"] == 0).all()
    noise = np.round(np.random.default_rng(0).normal(size=100_000), 1)
    assert len(pack(Archive("test", 1, {}, {"noise": noise}))) < 400_000


def test_arrays_of_other_types_are_not_written():
    with pytest.raises(TypeError, match="arrays of <U1 are not stored"):
        pack(Archive("test", 1, {}, {"words": np.array(["a"])}))


def test_numbers_that_json_does_not_know_are_not_written():
    with pytest.raises(ValueError, match="JSON compliant"):
        pack(Archive("test", 1, {"a": float("nan")}, {}))
