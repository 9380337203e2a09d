/* What a reader can take away: rows as CSV, pictures as SVG and PNG, the page with its names. */

const PIXELS = 2; // per pixel of the page

function save(parts, type, name) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = element("a", null, { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

const fileName = (what) => `${report.stem}-${what}`;

// --- rows ---------------------------------------------------------------------------------------------

/* Text that a spreadsheet would take for a formula gets an apostrophe before it. */
function csvCell(value) {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const text = /^[=+\-@\t\r]/.test(value) && !/^[+-]?[\d.]+(e[+-]?\d+)?$/i.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/* A number as it was before it was put into four bytes: the shortest that rounds to the same. */
function plainNumber(values, i) {
  const value = values[i];
  if (!(values instanceof Float32Array) || !Number.isFinite(value)) return value;
  for (let digits = 6; digits < 9; digits++) {
    const shorter = Number(value.toPrecision(digits));
    if (Math.fround(shorter) === value) return shorter;
  }
  return value;
}

function saveRows(data, wanted, headings) {
  const columns = [["row", (i) => data.row[i]]];
  for (const key of ["id", "class"]) if (data[key]) columns.push([headings[key], (i) => data[key][i]]);
  columns.push(
    ["cluster", (i) => data.cluster[i]],
    ["cluster_name", (i) => nameOf(data.cluster[i])],
    ["entropy", (i) => plainNumber(data.entropy, i)],
  );
  for (let place = 0; `top${place}` in data; place++) {
    columns.push(
      [`votes_${place + 1}`, (i) => data[`top${place}`][i]],
      [`share_${place + 1}`, (i) => plainNumber(data[`share${place}`], i)],
    );
  }
  report.details.columns.forEach((j, c) => {
    columns.push([report.details.names[c], (i) => plainNumber(valuesOf(data, j), i)]);
  });
  const lines = [columns.map(([name]) => csvCell(name)), ...wanted.map((i) => columns.map(([, value]) => csvCell(value(i))))];
  save(["\ufeff", lines.map((cells) => `${cells.join(",")}\r\n`).join("")], "text/csv", fileName("rows.csv"));
}

// --- pictures -----------------------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";

/* A picture that stands alone: with a background, and with colours instead of names of colours. */
function finished(svg, label) {
  const copy = svg.cloneNode(true);
  const style = getComputedStyle(document.documentElement);
  const [width, height] = ["width", "height"].map((side) => parseFloat(copy.getAttribute(side)));
  const back = document.createElementNS(SVG, "rect");
  for (const [name, value] of Object.entries({ width, height, fill: "var(--page)" })) back.setAttribute(name, value);
  copy.prepend(back);
  if (!copy.querySelector("title")) {
    const title = document.createElementNS(SVG, "title");
    title.textContent = label;
    copy.prepend(title);
  }
  copy.removeAttribute("style");
  for (const one of copy.querySelectorAll("*")) {
    for (const name of ["fill", "stroke"]) {
      const variable = /^var\((--[\w-]+)\)$/.exec(one.getAttribute(name) || "");
      if (variable) one.setAttribute(name, style.getPropertyValue(variable[1]).trim());
    }
  }
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

function pictureOf(holder) {
  const drawn = holder.querySelector("svg.tree");
  if (drawn) return finished(drawn, "");
  const plot = holder.querySelector(".plot");
  const view = [...Bokeh.index].find((one) => `plot-${one.model.name}` === plot.id);
  return finished(view.export("svg", false).canvas, plot.getAttribute("aria-label"));
}

function savePicture(holder, kind) {
  const { text, width, height } = pictureOf(holder);
  const name = fileName(`${holder.dataset.picture}.${kind}`);
  if (kind === "svg") {
    save([text], "image/svg+xml", name);
    return;
  }
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = element("canvas", null, { width: PIXELS * width, height: PIXELS * height });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save([blob], "image/png", name), "image/png");
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

for (const holder of document.querySelectorAll("figure[data-picture]")) {
  const buttons = element("span", null, { class: "save", role: "group", "aria-label": `Download ${holder.dataset.picture}` });
  for (const kind of ["svg", "png"]) {
    const button = element("button", kind.toUpperCase(), { type: "button", "aria-label": `Download ${holder.dataset.picture} as ${kind.toUpperCase()}` });
    button.addEventListener("click", () => savePicture(holder, kind));
    buttons.append(button);
  }
  holder.querySelector("figcaption").prepend(buttons);
}

// --- the page itself ----------------------------------------------------------------------------------

/* The file as it was written, with the names in it. */
byId("save-page").addEventListener("click", () => {
  const given = Object.fromEntries(Object.keys(names).filter(nameOf).map((k) => [k, nameOf(k)]));
  const block = 'id="report-names">'; // no text can hold it: there, quotes or angles are escaped
  const start = pristine.indexOf(block) + block.length;
  const end = pristine.indexOf("<\/script>", start);
  const text = JSON.stringify(given).replaceAll("<", "\\u003c");
  save(["<!doctype html>\n", pristine.slice(0, start), text, pristine.slice(end)], "text/html", fileName("report.html"));
});
