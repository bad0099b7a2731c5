/** Descriptions of the operations on CMS installations, each with an example request that succeeds. */
import { sampleIds } from "../api/sample-ids.ts"
import type { Described } from "../http/operation.ts"

const installationId = sampleIds.cmsInstallation
const config = {
  protocol_version: 1,
  stores: [
    {
      local_id: "main",
      locale: "en",
      currency: "EUR",
      native_search: true,
      sources: [{ local_id: "catalogue", collection: "products" }]
    }
  ]
} as const

export const described = {
  listCmsInstallations: {
    description:
      "Lists the CMS installations of the organization, including revoked ones, without their keys. A page has at most 250.",
    example: { query: { limit: "20" } }
  },
  createCmsInstallation: {
    description:
      "Creates an installation of a CMS module and shows its key (`cmsk_…`) this once. The key reads the installation's own configuration and reports for it, and is a 401 anywhere else. The plan bounds how many installations have a key (403).",
    example: {
      body: { name: "Main shop", provider: "bitrix", environment: "production", origin: "https://shop.example" }
    }
  },
  getCmsInstallation: {
    description:
      "Shows an installation: its desired and its applied configuration (`in_sync` if they are equal), what its module found and last reported, and when it was last seen. An unknown id is a 404.",
    example: { params: { installationId } }
  },
  publishCmsConfig: {
    description:
      "Publishes a configuration, which the module reads with its next poll: `desired_revision` increases by one. `expected_revision` is the one you edited; if it is no longer current, the answer is 409 with `data.current_revision`. Stores and sources have ids of their own, and collections, connectors, presets and models must exist (400 otherwise).",
    example: { params: { installationId }, body: { expected_revision: 0, config } }
  },
  revokeCmsInstallation: {
    description:
      "Revokes the installation's key: its next call is a 401. The installation itself stays, with `revoked_at`; revoking it again changes nothing. An unknown id is a 404.",
    example: { params: { installationId: sampleIds.oldCmsInstallation } }
  },
  getCmsRuntimeConfig: {
    description:
      "Shows the configuration of the calling installation and, for each source with a connector, where to send its events and the secret that signs them. `ETag` is the revision; with `If-None-Match` the answer is a 304 as long as nothing has changed, rotated secrets included.",
    example: {}
  },
  reportCmsRuntime: {
    description:
      "Receives a module's report: the revision that it runs, what it found in its CMS, and its state; omitted fields keep their last value. Fields without a name here are kept under `metadata` and counted. An `applied_revision` that was never published is a 409.",
    example: { body: { applied_revision: 0, discovery: { module_version: "1.0.0", cms_version: "5.2" } } }
  },
  pushCmsEvents: {
    description:
      "Accepts up to 500 events of one of the installation's sources, as the source's connector accepts signed pushes, with the same answer. A store or source that is not in the configuration, or has no connector, is a 400.",
    example: { body: { store: "main", source: "catalogue", events: [{ external_id: "lamp-1", title: "Lamp" }] } }
  }
} as const satisfies Readonly<Record<string, Described>>
