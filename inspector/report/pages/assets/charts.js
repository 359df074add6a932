// Draws every chart again as one that answers the pointer. Where this does not run, the drawn picture stays.
const specifications = JSON.parse(document.getElementById("chart-data").textContent);
for (const place of document.querySelectorAll("[data-chart]")) {
  const specification = specifications[place.dataset.chart];
  const drawn = place.innerHTML;
  const options = {
    // Expressions are interpreted, not compiled: the page forbids making code of text.
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
