/* Names of clusters, given by whoever reads the page. They stay in this browser, if it lets us, and
   in copies of the page. */

const nameKey = `bbclust names ${location.pathname} ${report.fingerprint}`;
const names = read("report-names");
try {
  Object.assign(names, JSON.parse(localStorage.getItem(nameKey)) || {});
} catch { /* a browser may keep nothing for files: then names last as long as the page is open */ }

const nameOf = (k) => (typeof names[k] === "string" ? names[k].trim() : "");
/* "name (2)", or "2" without a name. */
const clusterName = (k) => (k < 0 ? "none" : nameOf(k) ? `${nameOf(k)} (${k})` : String(k));
/* The same where a number alone would say nothing. */
const calledCluster = (k) => (k < 0 ? "no cluster" : nameOf(k) ? clusterName(k) : `cluster ${k}`);
/* For figures: Bokeh would take what stands between these signs for mathematics. */
const drawnText = (text) => text.replace(/[$\\]/g, "$&\u2060");

const nameListeners = [];

function showNames() {
  for (const one of document.querySelectorAll("[data-name]")) one.textContent = clusterName(Number(one.dataset.name));
  for (const one of document.querySelectorAll("[data-title]")) one.title = calledCluster(Number(one.dataset.title));
  for (const field of document.querySelectorAll("input.cluster-name")) {
    if (field !== document.activeElement) field.value = nameOf(field.dataset.cluster);
  }
  byId("save-page").disabled = !Object.keys(names).some((k) => nameOf(k));
  for (const listener of nameListeners) listener();
}

document.addEventListener("input", (event) => {
  if (!event.target.matches("input.cluster-name")) return;
  names[event.target.dataset.cluster] = event.target.value;
  try {
    localStorage.setItem(nameKey, JSON.stringify(names));
  } catch { /* see above */ }
  showNames();
});
