"""Sixty tables with the columns of public ones, filled by seeded code.

A line is the name of a table and its columns: header, sort of values (``real_headers.VALUES``), and
i, d or l for identifiers, dates and labels; the others are measurements. Rows have a hidden class,
which labels show and on which measurements depend.
"""
# ruff: noqa: E501

import zlib

import numpy as np
import polars as pl
from real_headers import VALUES

_LINES = """
titanic = PassengerId/count/i, Survived/classes_2/l, Age/age, SibSp/small_counts, Parch/small_counts, Fare/skewed
iris = Id/count/i, SepalLengthCm/positive, SepalWidthCm/positive, PetalLengthCm/positive, PetalWidthCm/positive, Species/classes_3/l
penguins = rowid/count/i, bill_length_mm/positive, bill_depth_mm/positive, flipper_length_mm/score, body_mass_g/round_money, year/year/d
wine = class/classes_3/l, alcohol/positive, malic_acid/positive, ash/positive, magnesium/percent_whole, proline/score
wine_quality = fixed acidity/positive, volatile acidity/positive, chlorides/positive, density/positive, alcohol/positive, quality/classes_5/l
breast_cancer = id/many_digits/i, diagnosis/classes_2/l, radius_mean/positive, texture_mean/positive, area_mean/skewed
pima = Pregnancies/small_counts, Glucose/percent_whole, BloodPressure/age, BMI/positive, Age/age, Outcome/classes_2/l
heart = age/age, trestbps/score, chol/score, thalach/score, oldpeak/positive, target/classes_2/l
heart_failure = age/age, creatinine_phosphokinase/big_counts, ejection_fraction/percent_whole, serum_creatinine/positive, time/counts, DEATH_EVENT/classes_2/l
mall_customers = CustomerID/count/i, Age/age, Annual Income (k$)/counts, Spending Score (1-100)/percent_whole
churn_bank = RowNumber/count/i, CustomerId/nine_digits/i, CreditScore/score, Age/age, Balance/money, EstimatedSalary/money, Exited/classes_2/l
telco = customerID/six_digits/i, tenure/counts, MonthlyCharges/money, TotalCharges/skewed, SeniorCitizen/flag, Churn/classes_2/l
online_retail = InvoiceNo/six_digits_repeated/i, StockCode/five_digits_repeated/i, Quantity/counts, InvoiceDate/iso_time/d, UnitPrice/money, CustomerID/six_digits_repeated/i
superstore = Row ID/count/i, Order Date/day_month_year/d, Ship Date/day_month_year/d, Postal Code/zip/i, Sales/money, Quantity/small_counts, Discount/percent, Profit/temperature
king_county = id/many_digits/i, date/yyyymmdd/d, price/round_money, bedrooms/small_counts, sqft_living/round_money, yr_built/year/d, zipcode/zip/i, lat/latitude, long/longitude
ames = Id/count/i, LotArea/round_money, OverallQual/small_counts, YearBuilt/year/d, GrLivArea/round_money, MoSold/month/d, YrSold/year/d, SalePrice/round_money
california = longitude/longitude, latitude/latitude, housing_median_age/age, total_rooms/counts, population/big_counts, median_income/positive
airbnb = id/many_digits/i, host_id/six_digits_repeated/i, latitude/latitude, longitude/longitude, price/money, minimum_nights/counts, last_review/iso/d, number_of_reviews/counts
bike_sharing = instant/count/i, dteday/iso/d, season/quarter/d, mnth/month/d, hr/hour/d, temp/percent, hum/percent, cnt/counts
air_quality = Date/day_month_year/d, CO/positive, NOx/counts, T/temperature, RH/percent
pm25 = No/count/i, year/year/d, month/month/d, day/day/d, hour/hour/d, pm2.5/skewed, DEWP/temperature, PRES/score
weather = station_id/few_dozens/i, timestamp/unix_sorted/d, temperature/temperature, humidity/percent, wind_speed/positive
power = datetime/iso_time/d, Global_active_power/positive, Voltage/positive, Global_intensity/positive
sensors = ts/unix_ms/d, device_id/few_dozens/i, co/positive, humidity/percent, lpg/positive, smoke/positive, temp/temperature
turbines = unit_number/few_dozens/i, cycle/counts, sensor_1/positive, sensor_2/positive, sensor_3/gauss
har = subject/few_dozens/i, tBodyAcc_mean_X/gauss, tBodyAcc_mean_Y/gauss, tGravityAcc_std_Z/gauss, Activity/classes_5/l
digits = label/classes_10/l, pixel_1/pixel, pixel_2/pixel, pixel_3/pixel, pixel_4/pixel
credit_card = Time/counts, V1/gauss, V2/gauss, V3/gauss, Amount/money, Class/classes_2/l
credit_default = ID/count/i, LIMIT_BAL/round_money, AGE/age, BILL_AMT1/round_money, PAY_AMT1/round_money, default.payment.next.month/classes_2/l
loans = Loan_ID/holes/i, ApplicantIncome/round_money, LoanAmount/counts, issue_date/yyyymmdd/d, loan_status/classes_2/l
lending = member_id/many_digits/i, loan_amnt/round_money, int_rate/positive, dti/positive, zip_code/padded_zip/i, issue_d/month_text/d
stocks = Date/iso/d, Open/money, High/money, Low/money, Close/money, Volume/big_counts
crypto = Unix Timestamp/unix_sorted/d, Open/money, Close/money, Volume BTC/skewed
world_bank = Country Code/three_digits_repeated/i, Year/year/d, GDP per capita/skewed, Life expectancy/positive, Population/big_counts
covid = fips/padded_zip/i, date/iso/d, cases/big_counts, deaths/counts
census = SERIALNO/many_digits/i, PUMA/five_digits_repeated/i, AGEP/age, WAGP/round_money, WKHP/percent_whole
counties = GEOID/five_digits_repeated/i, median_income/round_money, poverty_rate/positive, pop_density/skewed
nhanes = SEQN/holes/i, RIDAGEYR/age, BMXWT/positive, BMXHT/positive, LBXTC/score
mimic = subject_id/many_digits/i, hadm_id/six_digits/i, admittime/unix/d, heart_rate/age, creatinine/positive, lactate/positive
diabetes130 = encounter_id/many_digits/i, patient_nbr/many_digits/i, time_in_hospital/small_counts, num_lab_procedures/counts, num_medications/counts, readmitted/classes_3/l
trial = PatientID/padded_zip/i, visit_date/iso/d, dose_mg/positive, weight_kg/positive, response/classes_2/l
lab = sample_no/count/i, barcode/barcode/i, hemoglobin/positive, wbc/positive, platelets/big_counts
genes = probe_id/six_digits/i, expr_a/gauss, expr_b/gauss, expr_c/gauss, cluster/classes_4/l
seeds = area/positive, perimeter/positive, compactness/percent, kernel_length/positive, type/classes_3/l
glass = Id/count/i, RI/positive, Na/positive, Mg/positive, Al/positive, Type/classes_5/l
abalone = Length/positive, Diameter/positive, Whole weight/positive, Shell weight/positive, Rings/small_counts
ecommerce = user_id/six_digits/i, session_id/many_digits/i, event_time/unix_ms/d, page_views/counts, time_on_site/skewed, purchased/classes_2/l
marketing = ID/six_digits/i, Year_Birth/year/d, Income/round_money, Recency/counts, MntWines/counts, Response/classes_2/l
ads = user id/six_digits/i, age/age, EstimatedSalary/round_money, clicks/counts, Clicked on Ad/classes_2/l
calls = phone number/phone/i, account length/counts, total day minutes/positive, total eve charge/positive, customer service calls/small_counts, churn/classes_2/l
hr = EmployeeNumber/holes/i, Age/age, DailyRate/score, DistanceFromHome/small_counts, MonthlyIncome/round_money, Attrition/classes_2/l
flights = flight_number/few_hundreds/i, dep_time/unix/d, distance/counts, air_time/counts, dep_delay/temperature
taxi = trip_id/count/i, pickup_datetime/iso_time/d, passenger_count/small_counts, trip_distance/skewed, fare_amount/money
movies = movieId/few_dozens/i, release_date/iso/d, budget/big_counts, runtime/score, vote_average/positive
spotify = track_id/six_digits/i, release_year/year/d, danceability/percent, energy/percent, tempo/positive, loudness/temperature
football = player_id/six_digits/i, age/age, goals/small_counts, assists/small_counts, minutes_played/counts, market_value/big_counts
basketball = GAME_ID/many_digits/i, TEAM_ID/few_dozens/i, PTS/counts, REB/small_counts, AST/small_counts, FG_PCT/percent
students = student/few_dozens/i, math score/percent_whole, reading score/percent_whole, writing score/percent_whole, group/classes_5/l
soil = plot_id/count/i, N/counts, P/counts, K/counts, ph/positive, rainfall/skewed, label/classes_5/l
cars = car_ID/count/i, enginesize/counts, horsepower/counts, citympg/age, model year/year/d, price/round_money
mushroom_lab = specimen/few_dozens/i, cap_diameter/positive, stem_height/positive, v35/classes_3/l
assay = run_date/yyyymmdd/d, od_450/positive, conc_ng/skewed, volume_ul/positive, v60/classes_4/l
"""


def _parse(line):
    name, _, columns = line.partition(" = ")
    parts = [(*column.rsplit("/"), "")[:3] for column in columns.split(", ")]
    return name, parts


TABLES = dict(_parse(line) for line in _LINES.strip().split("\n"))
_PARTS = {"i": "identifier", "d": "date", "l": "label", "": "measurement"}


def make_table(name):
    """The table as cells of text, and the true part of every column."""
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    n = int(generator.integers(150, 400))
    columns = TABLES[name]
    labels = [sort for _, sort, part in columns if part == "l"]
    n_classes = int(labels[0].rpartition("_")[2]) if labels else 3
    hidden = generator.integers(0, n_classes, size=n)
    cells = {}
    for header, sort, part in columns:
        values = VALUES[sort](generator, n)
        if part == "l":
            values = hidden
        elif part == "":
            values = _depending_on(hidden, np.asarray(values), generator)
        cells[header] = [str(value) for value in values]
    return pl.DataFrame(cells), {header: _PARTS[part] for header, _, part in columns}


def _depending_on(hidden, values, generator):
    """The same values in an order in which the classes differ."""
    levels = generator.permutation(hidden.max() + 1)[hidden]
    order = np.argsort(np.argsort(4 * levels + generator.normal(size=len(hidden))))
    return np.sort(values)[order]
