/** How a connector interprets its events, compiled once and cached while its row is the same object. */
import { compileMapping } from "./mapping/map.ts"
import { PROVIDERS } from "./mapping/providers.ts"
import type { Reading } from "./read-push.ts"
import type { StoredConnector } from "./connectors-repository.ts"

const known = new WeakMap<StoredConnector, Reading>()
export const readingOf = (connector: StoredConnector): Reading => {
  let reading = known.get(connector)
  if (reading === undefined) {
    const provider = PROVIDERS.get(connector.provider)
    const mapping = connector.mapping ?? provider?.mapping
    reading = { provider, map: mapping === undefined ? undefined : compileMapping(mapping) }
    known.set(connector, reading)
  }
  return reading
}
/** How the journal says documents were made; undefined if they were stored as sent. */
export const mappingName = ({ mapping, provider }: StoredConnector): string | undefined =>
  mapping !== undefined ? "own" : PROVIDERS.has(provider) ? provider : undefined
