/** Texts that tell what went wrong with somebody else's data, as they are kept. Pure. */
import { storable } from "@dowser/log/normalize-query"

/** At most so many characters, and nothing that Postgres cannot store. */
export const told = (text: string, charactersMax: number): string => storable(text.slice(0, charactersMax))
