/** Shared with the launcher, which also looks for ports. */
export { freePort } from "../../scripts/postgres-server.mjs"
