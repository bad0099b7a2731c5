/** Errors of the landing pages: the address belongs to a page without content. */
import { Schema } from "effect"

/** Where a visitor may continue instead. */
const links = Schema.Array(Schema.Struct({ label: Schema.String, url: Schema.String }))

/** Its value has no documents at present. */
export class PageEmpty extends Schema.TaggedError<PageEmpty>()(
  "PageEmpty",
  { message: Schema.String, links },
  { httpApiStatus: 404 }
) {}
/** Its value has had no documents for 14 days, or was renamed to one without a page. */
export class PageGone extends Schema.TaggedError<PageGone>()(
  "PageGone",
  { message: Schema.String, links },
  { httpApiStatus: 410 }
) {}
