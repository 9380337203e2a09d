/* What all parts of the page's script use. The files are joined into one function, in the order of
   SCRIPTS in page.py. Texts of strangers are only ever set as textContent or as a value. */

const byId = (id) => document.getElementById(id);
const read = (id) => JSON.parse(byId(id).textContent);
// As the file was written, before anything moves: what a copy with names is made from.
const pristine = document.documentElement.outerHTML;
const report = read("report-data");

const element = (tag, text, attributes) => {
  const made = document.createElement(tag);
  if (text !== undefined && text !== null) made.textContent = text;
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  return made;
};
const nColors = report.themes.light.clusters.length;
/* A column of the table: maps show c, in which gaps are filled, if there are any. */
const valuesOf = (data, j) => data[`v${j}`] ?? data[`c${j}`];
const colorVariable = (k) => `--c: var(${k < 0 ? "--muted" : `--c${k % nColors}`})`; // -1: no cluster
const swatch = (k) => element("span", "", { class: "swatch", style: colorVariable(k), "aria-hidden": "true" });
const percent = (share) => { // as in percentages.py: 0% and 100% only if it is exactly that
  if (share === 0 || share === 1) return `${100 * share}%`;
  const text = [0, 1, 2].map((digits) => (100 * share).toFixed(digits)).find((t) => ![0, 100].includes(Number(t)));
  return text === undefined ? (share < 0.5 ? "under 0.01%" : "over 99.99%") : `${text}%`;
};
const thousands = (n) => n.toLocaleString("en");
const shortNumber = (value) => {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1000 && size < 1e7) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(3)));
};
