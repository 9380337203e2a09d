/* Words that are explained where they stand: by a pointer, by the keyboard, and by a finger. */

const tip = element("div", null, { id: "tip", role: "tooltip", hidden: "" });
document.body.append(tip);
let tipOf = null;

function showTip(link) {
  tipOf = link;
  tip.textContent = byId(link.hash.slice(1)).textContent;
  tip.hidden = false;
  const box = link.getBoundingClientRect(), own = tip.getBoundingClientRect();
  const widest = document.documentElement.clientWidth - own.width - 8;
  const above = box.top - own.height - 8;
  tip.style.left = `${scrollX + Math.max(8, Math.min(box.left, widest))}px`;
  tip.style.top = `${scrollY + (above > 0 ? above : box.bottom + 8)}px`;
}

function hideTip() {
  tipOf = null;
  tip.hidden = true;
}

const wordAt = (event) => (event.target.closest ? event.target.closest("a.word") : null);
document.addEventListener("pointerover", (event) => {
  if (event.pointerType !== "mouse" || tip.contains(event.target)) return;
  const link = wordAt(event);
  if (link) showTip(link);
  else if (tipOf !== null && tipOf !== document.activeElement) hideTip();
});
document.addEventListener("focusin", (event) => {
  const link = wordAt(event);
  if (link) showTip(link); else hideTip();
});
document.addEventListener("click", (event) => {
  const link = wordAt(event);
  if (!link) { hideTip(); return; }
  event.preventDefault(); // the meaning is here, no need to go to the list of words
  showTip(link);
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });

const forms = Object.keys(report.words).sort((a, b) => b.length - a.length);
const anyForm = new RegExp(`(?<![\\w-])(${forms.map((form) => form.replace(/[^\w ]/g, "\\$&")).join("|")})(?![\\w-])`);

/* The text as nodes, each word that the list knows linked where it stands first. */
function explained(text) {
  const seen = new Set();
  return String(text).split(anyForm).map((part, place) => {
    const word = place % 2 ? report.words[part] : undefined;
    if (!word || seen.has(word)) return document.createTextNode(part);
    seen.add(word);
    return element("a", part, { class: "word", href: `#${word}`, "aria-describedby": word });
  });
}
