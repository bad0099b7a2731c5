/** Valid names and media types of an asset. Pure. */
import { refusing } from "../http/checks.ts"
import { isStorable } from "../http/body.ts"

const FILENAME_CHARACTERS_MAX = 255
const TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}(; ?charset="?[a-z0-9_-]{1,32}"?)?$/i

export const filenameRefusal = (text: string): string | undefined =>
  text.trim() === "" ||
  text.length > FILENAME_CHARACTERS_MAX ||
  /[/\\\u0000-\u001f\u007f]/.test(text) ||
  !isStorable(text)
    ? `1 to ${FILENAME_CHARACTERS_MAX} characters, without slashes and control characters`
    : undefined
export const isMediaType = (text: string): boolean => TYPE.test(text)

export const isFilename = refusing(filenameRefusal)
export const isContentType = refusing((text: string) =>
  isMediaType(text) ? undefined : "A media type such as `image/png`"
)
/** In the form in which it is stored and compared. */
export const normalizedType = (text: string): string => text.toLowerCase()
