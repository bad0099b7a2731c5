/**
 * Draws the reference with Swagger UI from the document that the address names; it requests nothing from other hosts.
 */
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
 * What the viewer draws is mended for people who use a keyboard or a screen reader, as often as it is drawn: regions
 * have names, headings follow each other, what can be scrolled can be reached, and a button holds no link.
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
  // Its default asks a host on the internet whether the document is well.
  validatorUrl: null
})
