/** Search for storefronts and CMS installations, in the gateway's own formats. */
import { routes } from "./routes.ts"
import { defineRoom } from "../room.ts"

export const room = defineRoom({
  name: "gateway",
  routes,
  reaches: {
    gatewaySearch: "path",
    gatewaySuggest: "path",
    gatewayGeoSearch: "path",
    gatewayPutDocuments: "path",
    gatewayDeleteDocuments: "path",
    gatewayMultiSearch: "each",
    gatewayFederatedSearch: "each",
    createScopedToken: "each"
  },
  groups: {
    gateway: "What the search gateway can do.",
    "gateway search": "Searching with the keys of storefronts.",
    "gateway documents": "Documents pushed by connectors."
  },
  engineGroups: ["gateway search", "gateway documents"]
})
