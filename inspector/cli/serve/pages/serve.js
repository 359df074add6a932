// The terminal measures its font at startup, so load the font before the terminal script.
document.getElementById("again").addEventListener("click", () => window.location.reload());
const fonts = ["16px 'Roboto Mono'", "bold 16px 'Roboto Mono'", "italic 16px 'Roboto Mono'"];
const start = () => {
  const script = document.createElement("script");
  script.src = document.getElementById("terminal").dataset.script;
  // The script waits for the page's load event, which may have fired already.
  script.addEventListener("load", () => {
    if (document.readyState === "complete") window.onload?.(new Event("load"));
  });
  document.head.append(script);
};
// Browsers may block downloads in new windows, but not a clicked link. The terminal script expects them at the root.
const downloads = `${window.location.origin}/download/`;
const openWindow = window.open.bind(window);
window.open = (address, ...others) => {
  if (!String(address).startsWith(downloads)) return openWindow(address, ...others);
  const link = document.createElement("a");
  link.href = `download/${String(address).slice(downloads.length)}`;
  link.download = "";
  link.click();
  return null;
};
// The socket's close frame holds the reason; without one, the protocol's codes do.
const reasons = {
  1006: "The connection to inspector serve was lost.",
  1009: "The screen was closed: it received more input at once than it accepts.",
};
window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    this.addEventListener("close", ({ code, reason }) => {
      const told = reason || reasons[code];
      if (told) document.getElementById("why").textContent = told;
    });
  }
};
// Focus the terminal at the start, and whenever the window regains focus.
const focus = () => document.querySelector(".xterm-helper-textarea")?.focus();
new MutationObserver((_, watching) => {
  if (!document.body.classList.contains("-first-byte")) return;
  watching.disconnect();
  focus();
}).observe(document.body, { attributes: true, attributeFilter: ["class"] });
window.addEventListener("focus", focus);
Promise.allSettled(fonts.map((font) => document.fonts.load(font))).then(start);
