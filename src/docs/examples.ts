/** Descriptions of the documents, their page and the guide, each with a working request (`src/http/operation.ts`). */
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
  },
  getGuide: {
    description: "Shows the first page of the guide, which lists the others. Every page comes from this installation.",
    example: {}
  },
  getGuidePage: {
    description:
      "Shows a page of the guide as it is written in the repository, or a picture that a page shows. Any other name is a 404.",
    example: { params: { page: "plans" } }
  },
  getGuideSubpage: {
    description:
      "Shows a page of a part of the guide: of the contract, the API, a package or an example. Any other name is a 404.",
    example: { params: { folder: "engine-sdk", page: "architecture" } }
  },
  searchGuide: {
    description:
      "Finds passages of the guide by words, typing errors allowed: at most ten, each with the address of its heading. A query has at most 100 characters.",
    example: { query: { q: "backup" } }
  }
} as const satisfies Readonly<Record<string, Described>>
