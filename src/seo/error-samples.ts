/** A sample of every error that the room declares. */
import type { ErrorSample } from "../room.ts"
import { PageEmpty, PageGone } from "./errors.ts"

const links = [{ label: "Nut", url: "https://shop.example/brands/nut" }]
export const errorSamples: ReadonlyArray<ErrorSample> = [
  ["PageEmpty", new PageEmpty({ message: "The page acme has no products at the moment.", links })],
  ["PageGone", new PageGone({ message: "The page acme no longer exists.", links })]
]
