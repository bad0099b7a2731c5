/** Of the launcher's own: both look for ports. */
export { freePort } from "../../scripts/postgres-server.mjs"
