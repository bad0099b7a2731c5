/** Draws the reference with Swagger UI from the document named in the address; it requests nothing from other hosts. */
/* global SwaggerUIBundle */
const isGateway = new URLSearchParams(location.search).get("document") === "gateway"
const source = isGateway ? "/api/v1/openapi.json" : "/v1/openapi.json"
document.getElementById("source").setAttribute("href", source)
document.querySelector(`[data-document="${isGateway ? "gateway" : "tenant"}"]`).setAttribute("aria-current", "page")

const dark = matchMedia("(prefers-color-scheme: dark)")
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches)
dark.addEventListener("change", paint)
paint()

/**
 * After each rendering, fixes the viewer's output for users of a keyboard or a screen reader: regions have names,
 * headings follow each other, scrollable areas are focusable, and no button contains a link.
 */
const set = (element, name, value) => {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value)
}
const nameRegion = (element, name) => {
  set(element, "role", "region")
  set(element, "aria-label", name)
}
const mends = [
  ["#servers", (one) => set(one, "aria-label", "Server")],
  [".microlight, .highlight-code, .parameters-container, .model-box", (one) => set(one, "tabindex", "0")],
  [".opblock-summary-control a[href]", (one) => one.removeAttribute("href")],
  [".information-container", (one) => nameRegion(one, "About this API")],
  [".filter.wrapper", (one) => nameRegion(one, "Filter by group")],
  [".scheme-container", (one) => nameRegion(one, "Server and keys")],
  [".opblock-tag, .models > h4", (one) => set(one, "aria-level", "2")],
  [".opblock-section-header h4, .responses-inner h4, .model-title", (one) => set(one, "aria-level", "3")],
  [".responses-inner h5, .opblock-section h5", (one) => set(one, "aria-level", "4")]
]
const reference = document.getElementById("reference")
const mend = () => {
  for (const [place, mended] of mends) for (const one of reference.querySelectorAll(place)) mended(one)
}
new MutationObserver(mend).observe(reference, { childList: true, subtree: true })

SwaggerUIBundle({
  url: source,
  dom_id: "#reference",
  deepLinking: true,
  docExpansion: "list",
  filter: true,
  defaultModelsExpandDepth: 0,
  defaultModelRendering: "example",
  displayRequestDuration: true,
  // By default, a host on the internet would be asked to validate the document.
  validatorUrl: null
})
