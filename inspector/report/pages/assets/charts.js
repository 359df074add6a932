// Redraw every chart interactively. Without this script, the static picture remains.
const specifications = JSON.parse(document.getElementById("chart-data").textContent);
function draw(place) {
  const specification = specifications[place.dataset.chart];
  const drawn = place.innerHTML;
  const options = {
    // Interpret expressions: the page's security policy forbids compiling code from text.
    ast: true,
    actions: false,
    renderer: "svg",
    defaultStyle: false,
    logLevel: 1,
    tooltip: { disableDefaultStyle: true, theme: "page" },
  };
  const fitted = { ...specification, width: "container" };
  place.replaceChildren();
  vegaEmbed(place, fitted, options).catch((error) => {
    place.innerHTML = drawn;
    console.error(error);
  });
}
for (const place of document.querySelectorAll("[data-chart]")) {
  // A chart in a closed section has no width yet.
  const closed = place.closest("details:not([open])");
  if (closed) closed.addEventListener("toggle", () => draw(place), { once: true });
  else draw(place);
}
