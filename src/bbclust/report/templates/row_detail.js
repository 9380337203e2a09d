/* An opened row: its values beside the profiles of the two clusters it lies between, and which
   columns pull which way. */

const MOST_COLUMNS = 12;

function rowDetail(data, i) {
  const [first, second] = [data.top0[i], data.rival[i]];
  const about = report.details;
  const columns = about.columns.map((j, c) => ({
    name: about.names[c],
    value: valuesOf(data, j)[i],
    means: [first, second].map((k) => (k < 0 ? null : about.means[k][c])),
    pull: second < 0 || !about.centers ? null : pullOf(valuesOf(data, j)[i], about, c, first, second),
  }));
  const pulled = columns.some((one) => one.pull !== null);
  if (pulled) columns.sort((a, b) => Math.abs(b.pull) - Math.abs(a.pull));
  const shown = columns.slice(0, MOST_COLUMNS);
  const panel = element("div", null, { class: "row-detail" });
  panel.append(
    element("h4", data.id ? `Row ${data.row[i]}, ${data.id[i]}` : `Row ${data.row[i]}`),
    sentenceOn(data, i, first, second, pulled),
    detailTable(shown, first, second, pulled),
  );
  const rest = restOn(data, i, shown, first, second, pulled);
  if (rest) panel.append(element("p", rest, { class: "caption" }));
  return panel;
}

function pullOf(value, about, c, first, second) {
  if (!Number.isFinite(value)) return 0; // a value that is not known pulls nowhere
  return about.weights[c] * ((value - about.centers[second][c]) ** 2 - (value - about.centers[first][c]) ** 2);
}

function sentenceOn(data, i, first, second, pulled) {
  const line = element("p");
  const agreed = data.share0[i] >= 0.9995;
  const said = agreed || second < 0
    ? `All votes are for ${calledCluster(first)}${second < 0 ? "" : `; the nearest other one is ${calledCluster(second)}`}.`
    : `${percent(data.share0[i])} of the votes are for ${calledCluster(first)} and ${percent(data.share1[i])} for ${calledCluster(second)}.`;
  line.append(said);
  if (pulled && data.pull) {
    const nearer = data.pull[i] >= 0 ? first : second;
    line.append(
      ` Its columns together `, element("a", "pull", { class: "word", href: "#word-pull", "aria-describedby": "word-pull" }),
      ` it towards ${calledCluster(nearer)} by ${shortNumber(Math.abs(data.pull[i]))}.`,
    );
  }
  return line;
}

function clusterHeading(k) {
  const th = element("th", null, { scope: "col" });
  th.append(swatch(k), clusterName(k));
  return th;
}

function detailTable(columns, first, second, pulled) {
  const table = element("table", null, { class: "detail-table" });
  const head = table.createTHead().insertRow();
  head.append(element("th", "column", { scope: "col" }), element("th", "this row", { scope: "col" }), clusterHeading(first));
  if (second >= 0) head.append(clusterHeading(second));
  if (pulled) head.append(element("th", `← ${first} pulls ${second} →`, { scope: "col", class: "pull" }));
  const body = table.createTBody();
  const most = Math.max(...columns.map((one) => Math.abs(one.pull))) || 1;
  for (const one of columns) {
    const line = body.insertRow();
    line.append(element("th", one.name, { scope: "row" }), element("td", shortNumber(one.value), { class: "own" }));
    line.append(...one.means.slice(0, second >= 0 ? 2 : 1).map((mean) => element("td", shortNumber(mean))));
    if (!pulled) continue;
    const towards = one.pull >= 0 ? first : second;
    const cell = element("td", null, {
      class: "bar", style: `${colorVariable(towards)}; --size: ${(46 * Math.abs(one.pull) / most).toFixed(1)}%`,
    });
    const number = element("span", shortNumber(Math.abs(one.pull)), { class: one.pull >= 0 ? "left" : "right" });
    number.append(element("span", ` towards ${towards}`, { class: "unseen" }));
    cell.append(number);
    line.append(cell);
  }
  return table;
}

/* What the columns that are not listed do together. */
function restOn(data, i, shown, first, second, pulled) {
  const left = report.details.n_columns - shown.length;
  if (left === 0) return "";
  const many = `The other ${thousands(left)} ${left === 1 ? "column" : "columns"}`;
  if (!pulled || !data.pull) return `${many} are not listed.`;
  const rest = data.pull[i] - shown.reduce((sum, one) => sum + one.pull, 0);
  return `${many} together pull it towards ${calledCluster(rest >= 0 ? first : second)} by ${shortNumber(Math.abs(rest))}.`;
}
