/**
 * An engine that delegates everything to another one, chosen at every call. A wrapper overrides what it does
 * differently.
 */
import { fail, ok, type Result, type SearchEngine } from "@dowser/engine-sdk"

const cannotLookUp: Result<never> = fail({
  kind: "Unavailable",
  message: "The current engine cannot look words up."
})

/** `setDictionary` and `words` exist only if the current engine has them. */
export const delegatingEngine = (engine: () => SearchEngine): SearchEngine => ({
  capabilities: () => engine().capabilities(),
  createCollection: (...given) => engine().createCollection(...given),
  alterCollection: (...given) => engine().alterCollection(...given),
  ...(engine().schemaChanges === undefined
    ? {}
    : { schemaChanges: async (...given) => engine().schemaChanges?.(...given) ?? ok([]) }),
  dropCollection: (...given) => engine().dropCollection(...given),
  ...(engine().namespaces === undefined ? {} : { namespaces: () => engine().namespaces?.() ?? [] }),
  listCollections: (...given) => engine().listCollections(...given),
  describeCollection: (...given) => engine().describeCollection(...given),
  write: (...given) => engine().write(...given),
  search: (...given) => engine().search(...given),
  union: (...given) => engine().union(...given),
  scan: (...given) => engine().scan(...given),
  get: (...given) => engine().get(...given),
  usage: (...given) => engine().usage(...given),
  ...(engine().words === undefined ? {} : { words: (...given) => engine().words?.(...given) ?? cannotLookUp }),
  ...(engine().setDictionary === undefined
    ? {}
    : { setDictionary: async (...given) => engine().setDictionary?.(...given) }),
  health: () => engine().health(),
  close: () => engine().close()
})
