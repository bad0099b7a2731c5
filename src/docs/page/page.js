/** Draws the reference with Swagger UI from the document that the address names; nothing is asked of another host. */
/* global SwaggerUIBundle */
const isGateway = new URLSearchParams(location.search).get("document") === "gateway"
const source = isGateway ? "/api/v1/openapi.json" : "/v1/openapi.json"
document.getElementById("source").setAttribute("href", source)
document.querySelector(`[data-document="${isGateway ? "gateway" : "tenant"}"]`).setAttribute("aria-current", "page")

const dark = matchMedia("(prefers-color-scheme: dark)")
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches)
dark.addEventListener("change", paint)
paint()

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
