// The terminal measures its font when it starts, so the font is loaded first; then the script that draws the terminal.
document.getElementById("again").addEventListener("click", () => window.location.reload());
const fonts = ["16px 'Roboto Mono'", "bold 16px 'Roboto Mono'", "italic 16px 'Roboto Mono'"];
const start = () => {
  const script = document.createElement("script");
  script.src = document.getElementById("terminal").dataset.script;
  // It waits for the page's load event, which may have passed.
  script.addEventListener("load", () => {
    if (document.readyState === "complete") window.onload?.(new Event("load"));
  });
  document.head.append(script);
};
// Downloads are opened as windows, which browsers may block; a link that is followed is not.
const openWindow = window.open.bind(window);
window.open = (address, ...others) => {
  if (!String(address).startsWith(`${window.location.origin}/download/`)) return openWindow(address, ...others);
  const link = document.createElement("a");
  link.href = address;
  link.download = "";
  link.click();
  return null;
};
// Why the screen is gone is told by the last frame of its socket; where there was none, by the protocol's own codes.
const reasons = {
  1006: "The connection to inspector serve was lost.",
  1009: "The screen was closed: more was sent to it at once than it takes.",
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
// Keys go to the terminal from the start, and again when the reader comes back to the window.
const focus = () => document.querySelector(".xterm-helper-textarea")?.focus();
new MutationObserver((_, watching) => {
  if (!document.body.classList.contains("-first-byte")) return;
  watching.disconnect();
  focus();
}).observe(document.body, { attributes: true, attributeFilter: ["class"] });
window.addEventListener("focus", focus);
Promise.allSettled(fonts.map((font) => document.fonts.load(font))).then(start);
