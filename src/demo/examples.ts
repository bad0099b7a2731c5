/** Descriptions of the demo shop's operations, each with a request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

export const described = {
  getPage: {
    description:
      "Shows the demo shop, or redirects to the API reference if this installation runs without one. It needs no key.",
    example: {}
  },
  getConsole: {
    description: "Redirects visitors who look for a console to the first page. It needs no key.",
    example: {}
  },
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
      "Starts indexing the pictures of the demo shop's products on the first call, and answers how many of them can be found so far. Without a demo shop this is a 404.",
    example: {}
  },
  getConfig: {
    description:
      "Shows which collection the demo page displays and which search key it uses. Without a demo shop this is a 404.",
    example: {}
  },
  getFigures: {
    description: "Shows the figures of the demo shop for the last 24 hours. Without a demo shop this is a 404.",
    example: {}
  }
} as const satisfies Readonly<Record<string, Described>>
