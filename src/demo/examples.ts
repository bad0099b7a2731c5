/** What the demo shop answers, in words, and a request of each that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

export const described = {
  getPage: {
    description: "Shows the demo shop, or leads to the API reference where this installation runs without one.",
    example: {}
  },
  getConsole: { description: "Leads a person who looks for a console to the first page.", example: {} },
  getFile: {
    description: "Serves one of the files that the demo page is made of. Any other name is a 404.",
    example: { params: { file: "page.js" } }
  },
  getPicture: {
    description:
      "Shows a product of the demo shop as it is drawn from its category, colour and material. An unknown product is a 404.",
    example: { params: { productId: "p1" } }
  },
  lookAtPictures: {
    description:
      "Begins to look at the pictures of the demo shop's products, the first time that somebody wants to search by one, and says how many of them can be found so far. Asked again it only says so. Without a demo shop this is a 404.",
    example: {}
  },
  getConfig: {
    description:
      "Tells the demo page which collection it shows and which search key it uses. Without a demo shop this is a 404.",
    example: {}
  },
  getFigures: {
    description: "Shows what visitors of the demo shop did in the last 24 hours. Without a demo shop this is a 404.",
    example: {}
  }
} as const satisfies Readonly<Record<string, Described>>
