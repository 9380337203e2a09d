/* What moves on the page. Bokeh draws; the controls are those of the browser, so that keyboards and
   screen readers know them. */

const figures = read("report-figures");
const MOST_NAMES = 9; // in one line of sizes

function start(doc) {
  const model = (name) => doc.get_model_by_name(name);
  const plots = doc.roots();
  const source = model("rows");
  const data = source.data;
  const n = data.row.length;

  // --- colours, by day and by night --------------------------------------------------------------

  const night = window.matchMedia("(prefers-color-scheme: dark)");
  let theme = report.themes.light;
  let atK = null; // colour index of every row at the K of the slider
  const clusterColor = (k) => (k < 0 ? theme.muted : theme.clusters[k % nColors]);

  function paint(printing) {
    theme = report.themes[night.matches && !printing ? "dark" : "light"];
    for (const plot of plots) {
      for (const axis of [...plot.left, ...plot.below]) {
        axis.setv({
          axis_label_text_color: theme.muted, major_label_text_color: theme.muted,
          axis_line_color: theme.line, major_tick_line_color: theme.line,
        });
      }
      for (const grid of plot.center) {
        if (grid.type === "Grid") grid.grid_line_color = theme.line;
      }
      for (const renderer of plot.renderers) paintGlyph(renderer);
    }
    paintRows();
    paintCurves();
  }

  function paintGlyph(renderer) {
    const [part] = (renderer.name || "").split(":");
    if (part === "outline") renderer.glyph.line_color = theme.muted;
    if (part === "numbers") {
      renderer.glyph.setv({ text_color: theme.ink, background_fill_color: theme.page, border_line_color: theme.muted });
    }
    if (part === "bars") renderer.glyph.setv({ fill_color: theme.accent, line_color: null });
    if (part === "prior line") renderer.glyph.line_color = theme.doubt;
  }

  function paintRows() {
    data.color = Array.from(data.cluster, clusterColor);
    if (atK !== null) {
      data.k_color = atK.map(clusterColor);
      data.k_marker = atK.map((k) => (k < 0 ? "x" : report.markers[k % report.markers.length]));
    }
    source.change.emit();
  }

  // --- how many clusters ---------------------------------------------------------------------------

  const everyK = report.every_k;
  const measures = ["mean_entropy", "max_pairwise_entropy"];

  function paintCurves() {
    if (!everyK) return;
    const now = Number(byId("s-slider").value);
    for (const measure of measures) {
      model(`chosen:${measure}`).line_color = theme.ink;
      model(`now:${measure}`).line_color = theme.accent;
      everyK.prior_scales.forEach((_, s) => {
        const color = s === now ? theme.accent : theme.muted;
        const strength = s === now ? 1 : 0.45;
        model(`band:${measure}:${s}`).visible = s === now;
        model(`band:${measure}:${s}`).glyph.fill_color = color;
        model(`line:${measure}:${s}`).glyph.setv({
          line_color: color, line_alpha: strength, line_width: s === now ? 3 : 1.5,
        });
        model(`dots:${measure}:${s}`).glyph.setv({
          line_color: color, fill_color: color, line_alpha: strength, fill_alpha: strength,
        });
      });
    }
  }

  function showK() {
    const i = Number(byId("k-slider").value);
    const s = Number(byId("s-slider").value);
    const k = everyK.k_values[i];
    const scale = everyK.prior_scales[s];
    const one = everyK.by_k[i];
    byId("k-value").textContent = k;
    byId("s-value").textContent = scale;
    byId("k-slider").setAttribute("aria-valuetext", `${k} clusters`);
    byId("s-slider").setAttribute("aria-valuetext", `prior scale ${scale}`);
    for (const measure of measures) model(`now:${measure}`).location = k;
    byId("k-title").textContent = `K = ${k}${i === everyK.chosen ? ", the chosen number" : ""}`;
    byId("k-verdict").replaceChildren(...explained(one.verdict));
    const isModel = i === everyK.chosen && k === report.n_clusters;
    const called = isModel && k <= MOST_NAMES ? clusterName : String;
    byId("k-sizes").replaceChildren(...one.shares.map((share, cluster) => {
      const part = element("li", null, { style: `${colorVariable(one.colors[cluster])}; flex-grow: ${share}` });
      part.append(element("span", called(cluster)), element("small", percent(share)));
      return part;
    }));
    byId("k-sizes").classList.toggle("many", one.shares.length > MOST_NAMES);
    byId("k-pairs").replaceChildren(...(one.doubts ? pairsAtK(one.doubts, one.colors, called) : []));
    atK = one.labels.map((label) => (label < 0 ? -1 : one.colors[label]));
    paintRows();
    paintCurves();
  }

  /* Only clusters that leave doubt; if none does, one sentence. */
  function pairsAtK(doubts, colors, called) {
    const wavering = doubts.map((_, k) => k).filter((k) => doubts[k].some((doubt) => doubt >= report.least_doubt));
    if (wavering.length === 0) return [element("p", "No two of its clusters leave doubt.", { class: "caption" })];
    const others = doubts.length - wavering.length;
    const caption = element("p", null, { class: "caption" });
    caption.append(...explained("The doubt between two clusters, in bits, over all s"));
    caption.append(others === 0 ? ":" : `; ${others === 1 ? "the other cluster leaves" : `the other ${others} clusters leave`} none:`);
    return [caption, doubtTable(doubts, wavering, colors, called)];
  }

  function doubtTable(doubts, clusters, colors, called) {
    const table = element("table", null, { class: "matrix", "aria-label": "Doubt between two clusters, bits per vote" });
    const head = table.createTHead().insertRow();
    head.append(element("td"));
    const heading = (k, scope) => {
      const th = element("th", null, { scope });
      th.append(swatch(colors[k]), scope === "row" ? called(k) : String(k));
      return th;
    };
    for (const k of clusters) head.append(heading(k, "col"));
    const body = table.createTBody();
    for (const i of clusters) {
      const line = body.insertRow();
      line.append(heading(i, "row"));
      for (const j of clusters) {
        const doubt = doubts[i][j];
        line.append(i === j
          ? element("td", "", { class: "diagonal" })
          : element("td", doubt < report.least_doubt ? "·" : doubt.toFixed(2), { style: `--share: ${Math.min(100, Math.round(100 * doubt))}%` }));
      }
    }
    return table;
  }

  // --- brushing --------------------------------------------------------------------------------------

  const select = (wanted) => { source.selected.indices = wanted; };
  const where = (test) => Array.from({ length: n }, (_, i) => i).filter(test);
  const pressed = new Set();

  function showSelection() {
    const chosen = source.selected.indices;
    opened = chosen.length === 1 ? chosen[0] : null;
    firstRow = 0;
    describeSelection(chosen);
    showTable();
  }

  function describeSelection(chosen) {
    byId("clear").disabled = chosen.length === 0;
    if (chosen.length === 0) {
      byId("selection-status").textContent = "No rows selected.";
    } else {
      const counts = new Map();
      let sum = 0;
      for (const i of chosen) {
        counts.set(data.cluster[i], (counts.get(data.cluster[i]) || 0) + 1);
        sum += data.entropy[i];
      }
      const parts = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 5)
        .map(([k, count]) => `${thousands(count)} in ${calledCluster(k)}`);
      byId("selection-status").textContent =
        `${thousands(chosen.length)} of ${thousands(n)} rows selected: ${parts.join(", ")}; ` +
        `mean entropy ${(sum / chosen.length).toFixed(3)} bits.`;
    }
  }

  function pressOnly(button) {
    for (const other of document.querySelectorAll("#legend [aria-pressed]")) {
      const on = button !== null && other === button ? other.getAttribute("aria-pressed") !== "true"
        : button !== null && pressed.has(other);
      other.setAttribute("aria-pressed", String(on));
      if (on) pressed.add(other); else pressed.delete(other);
    }
  }

  byId("legend").addEventListener("click", (event) => {
    const button = event.target.closest("[data-cluster]");
    if (!button) return;
    pressOnly(button);
    const wanted = new Set([...pressed].map((one) => Number(one.dataset.cluster)));
    select(where((i) => wanted.has(data.cluster[i])));
  });
  byId("select-between").addEventListener("click", () => {
    pressOnly(null);
    select(where((i) => data.share0[i] < report.clear_share));
  });
  byId("clear").addEventListener("click", () => { pressOnly(null); select([]); });
  byId("pairs").addEventListener("click", (event) => {
    const button = event.target.closest("[data-pair]");
    if (!button) return;
    const [a, b] = button.dataset.pair.split(",").map(Number);
    pressOnly(null);
    select(where((i) => data.share1[i] > 0 &&
      ((data.top0[i] === a && data.top1[i] === b) || (data.top0[i] === b && data.top1[i] === a))));
    byId("rows").scrollIntoView();
  });

  // --- two columns of the map ------------------------------------------------------------------------

  function moveMap() {
    data.map_x = data[byId("axis-x").value];
    data.map_y = data[byId("axis-y").value];
    source.change.emit();
    const middles = model("middles");
    const mean = (values, k) => {
      let sum = 0, count = 0;
      for (let i = 0; i < n; i++) if (data.cluster[i] === k) { sum += values[i]; count++; }
      return sum / count;
    };
    middles.data.x = Array.from(middles.data.cluster, (k) => mean(data.map_x, k));
    middles.data.y = Array.from(middles.data.cluster, (k) => mean(data.map_y, k));
    middles.change.emit();
    nameAxes();
    const plot = model("map");
    plot.x_range.reset();
    plot.y_range.reset();
  }

  function nameAxes() {
    const chosen = (id) => drawnText(byId(id).selectedOptions[0].text);
    model("map").below[0].axis_label = chosen("axis-x");
    model("map").left[0].axis_label = chosen("axis-y");
  }

  function drawNames() {
    for (const one of ["middles", "corners"].map(model)) {
      if (one === null) continue;
      one.data.text = Array.from(one.data.cluster, (k) => drawnText(nameOf(k) || String(k)));
      one.change.emit();
    }
    if (model("entropy")) {
      const lanes = model("entropy").left[0];
      const named = lanes.ticker.ticks.filter((k) => nameOf(k)).map((k) => [k, drawnText(clusterName(k))]);
      lanes.major_label_overrides = new Map([[report.n_clusters, "none"], ...named]);
    }
    data.named = Array.from(data.cluster, clusterName);
    source.change.emit();
    describeSelection(source.selected.indices);
    showTable();
    if (everyK) showK();
  }

  // --- the table -------------------------------------------------------------------------------------

  const body = byId("row-table").tBodies[0];
  const headings = [...document.querySelectorAll("#row-table th[data-key]")];
  const keys = headings.map((th) => th.dataset.key);
  const sorting = { key: "entropy", down: true };
  let firstRow = 0;
  let opened = null; // the row whose values are shown
  let listed = [];

  const sortValue = { row: "row", id: "id", class: "class", cluster: "cluster", entropy: "entropy", votes: "share0" };
  const byText = new Intl.Collator("en", { numeric: true });

  function wantedRows() {
    const chosen = source.selected.indices;
    const wanted = chosen.length ? Array.from(chosen) : where(() => true);
    const text = byId("search").value.trim().toLowerCase();
    const kept = text === "" ? wanted : wanted.filter((i) =>
      String(data.row[i]) === text || `cluster ${data.cluster[i]}` === text ||
      nameOf(data.cluster[i]).toLowerCase().includes(text) ||
      (data.id && data.id[i].toLowerCase().includes(text)) ||
      (data.class && data.class[i].toLowerCase().includes(text)));
    const values = data[sortValue[sorting.key]];
    const sign = sorting.down ? -1 : 1;
    const compare = typeof values[0] === "string" ? byText.compare : (a, b) => a - b;
    return kept.sort((a, b) => sign * compare(values[a], values[b]) || a - b);
  }

  function votesOf(i) {
    const cell = element("td", null, { class: "vote-cell" });
    const bar = element("span", null, { class: "votes", "aria-hidden": "true" });
    const texts = [];
    for (let place = 0; `top${place}` in data; place++) {
      const k = data[`top${place}`][i], share = data[`share${place}`][i];
      if (share > 0) bar.append(element("span", null, { style: `${colorVariable(k)}; width: ${(100 * share).toFixed(1)}%` }));
      if (share > 0) texts.push(`${percent(share)} for ${clusterName(k)}`);
    }
    cell.append(bar, element("span", texts.join(" · "), { class: "votes-text" }));
    return cell;
  }

  const cells = {
    row: (i) => {
      const cell = element("td");
      cell.append(element("button", data.row[i], {
        type: "button", class: "open", "aria-expanded": String(i === opened), "aria-label": `row ${data.row[i]}: its values`,
      }));
      return cell;
    },
    id: (i) => element("td", data.id[i], { class: "text" }),
    class: (i) => element("td", data.class[i], { class: "text" }),
    cluster: (i) => {
      const cell = element("td");
      cell.append(swatch(data.cluster[i]), ` ${clusterName(data.cluster[i])}`);
      return cell;
    },
    entropy: (i) => element("td", data.entropy[i].toFixed(3)),
    votes: votesOf,
  };

  function showTable() {
    const wanted = wantedRows();
    firstRow = Math.max(0, Math.min(firstRow, wanted.length - 1));
    const end = Math.min(firstRow + report.page_of_rows, wanted.length);
    listed = wanted;
    body.replaceChildren(...wanted.slice(firstRow, end).flatMap((i) => {
      const line = element("tr", null, { "data-row": i, class: i === opened ? "opened" : "closed" });
      line.append(...keys.map((key) => cells[key](i)));
      if (i !== opened) return [line];
      const detail = element("tr", null, { class: "detail" });
      const cell = element("td", null, { colspan: keys.length });
      cell.append(rowDetail(data, i));
      detail.append(cell);
      return [line, detail];
    }));
    byId("save-rows").textContent = `Download ${wanted.length === 1 ? "this row" : `these ${thousands(wanted.length)} rows`} (CSV)`;
    byId("save-rows").disabled = wanted.length === 0;
    byId("pages").textContent = wanted.length === 0 ? "no rows"
      : `${thousands(firstRow + 1)} to ${thousands(end)} of ${thousands(wanted.length)} rows`;
    byId("previous").disabled = firstRow === 0;
    byId("next").disabled = end >= wanted.length;
  }

  body.addEventListener("click", (event) => {
    const line = event.target.closest("tr[data-row]");
    if (!line) return;
    const i = Number(line.dataset.row);
    opened = opened === i ? null : i;
    showTable();
    body.querySelector(`tr[data-row="${i}"] button`).focus();
  });
  byId("save-rows").addEventListener("click", () => {
    saveRows(data, listed, Object.fromEntries(headings.map((th) => [th.dataset.key, th.textContent.trim()])));
  });

  for (const th of headings) {
    th.querySelector("button").addEventListener("click", () => {
      const key = th.dataset.key;
      sorting.down = sorting.key === key ? !sorting.down : key === "entropy";
      sorting.key = key;
      for (const other of headings) other.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", sorting.down ? "descending" : "ascending");
      firstRow = 0;
      showTable();
    });
  }
  byId("search").addEventListener("input", () => { firstRow = 0; showTable(); });
  byId("previous").addEventListener("click", () => { firstRow -= report.page_of_rows; showTable(); });
  byId("next").addEventListener("click", () => { firstRow += report.page_of_rows; showTable(); });

  // --- prior against data ----------------------------------------------------------------------------

  function showPrior() {
    const one = report.histograms[byId("prior-column").value];
    const left = one.edges.slice(0, -1), right = one.edges.slice(1);
    model("histogram").data = {
      left, right, data: one.data, prior: one.prior,
      middle: left.map((edge, i) => (edge + right[i]) / 2),
    };
  }

  // --- begin -------------------------------------------------------------------------------------------

  if (everyK) {
    byId("k-slider").addEventListener("input", showK);
    byId("s-slider").addEventListener("input", showK);
  }
  byId("axis-x").addEventListener("change", moveMap);
  byId("axis-y").addEventListener("change", moveMap);
  if (byId("prior-column")) byId("prior-column").addEventListener("change", showPrior);
  source.selected.properties.indices.change.connect(showSelection);
  night.addEventListener("change", () => paint(false));
  window.addEventListener("beforeprint", () => {
    paint(true);
    for (const view of Bokeh.index) if (view.paint) view.paint(); // the printer does not wait
  });
  window.addEventListener("afterprint", () => paint(false));
  // A finger that moves over a figure wants to scroll the page, until it asks for a tool.
  if (window.matchMedia("(pointer: coarse)").matches) {
    for (const plot of plots) for (const tool of plot.toolbar.tools) {
      if (tool.type === "BoxSelectTool") tool.active = false;
    }
  }
  if (window.innerWidth < 500) {
    model("map").height = 370;
    if (model("simplex")) model("simplex").height = 340;
  }
  paint(false);
  nameAxes();
  nameListeners.push(drawNames);
  showNames();
  document.documentElement.dataset.ready = "true";
}

document.documentElement.classList.add("scripted");
Bokeh.set_log_level("warn");
Bokeh.embed.embed_items(figures.documents, figures.items).then(() => start(Bokeh.documents[0]));
