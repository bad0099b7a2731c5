/** Messages about what is wrong with somebody else's data, in the form in which they are stored. Pure. */
import { storable } from "@dowser/log/normalize-query"

/** At most this many characters, without anything that Postgres cannot store. */
export const storableText = (text: string, charactersMax: number): string => storable(text.slice(0, charactersMax))
