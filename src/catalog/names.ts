/** Which collection a name in an address means: a real collection wins over an alias of the same name (reference contract 2.1). */
import { Context } from "effect"

export class CatalogNames extends Context.Service<CatalogNames, {
  /** The real name, or undefined where neither exists. */
  readonly resolve: (organizationId: string, name: string) => string | undefined
}>()("dowser/catalog/CatalogNames") {}
