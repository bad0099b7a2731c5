/** What the documents and their page are, in words, and a request of each that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

export const described = {
  getTenantDocument: {
    description:
      "Shows this document: every operation of the tenant API and the console API. It is generated from the program's own list of operations, so it cannot differ from the program.",
    example: {}
  },
  getGatewayDocument: {
    description:
      "Shows the OpenAPI document of the search gateway. It is generated from the program's own list of operations.",
    example: {}
  },
  getReference: {
    description:
      "Shows the API reference as a page, with a request that can be tried for every operation. Everything on it comes from this installation.",
    example: {}
  },
  getReferenceFile: {
    description: "Serves one of the files that the reference page is made of. Any other name is a 404.",
    example: { params: { file: "page.js" } }
  }
} as const satisfies Readonly<Record<string, Described>>
