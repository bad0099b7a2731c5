/** Descriptions of the operations of CMS installations, each with an example request that succeeds. */
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
      "Lists the CMS installations of the organization, revoked ones among them, without their keys. A page has at most 250.",
    example: { query: { limit: "20" } }
  },
  createCmsInstallation: {
    description:
      "Creates an installation of a CMS module and shows its key (`cmsk_…`) this once. The key reads the installation's own configuration and reports for it, and is a 401 anywhere else. The plan bounds how many have a key (403).",
    example: {
      body: { name: "Main shop", provider: "bitrix", environment: "production", origin: "https://shop.example" }
    }
  },
  getCmsInstallation: {
    description:
      "Shows an installation: what it is to run by and runs by (`in_sync` where they are the same), what its module found and last reported, and when it was last seen. An unknown id is a 404.",
    example: { params: { installationId } }
  },
  publishCmsConfig: {
    description:
      "Publishes a configuration, which the module reads with its next poll: `desired_revision` goes up by one. `expected_revision` is the one that was looked at; another is a 409 with `data.current_revision`. Stores and sources have ids of their own, and collections, connectors, presets and models must be there (400 otherwise).",
    example: { params: { installationId }, body: { expected_revision: 0, config } }
  },
  revokeCmsInstallation: {
    description:
      "Revokes the installation's key: its next call is a 401. The installation stays as it was, with `revoked_at`; revoking it again changes nothing. An unknown id is a 404.",
    example: { params: { installationId: sampleIds.oldCmsInstallation } }
  },
  getCmsRuntimeConfig: {
    description:
      "Shows the configuration of the installation that asks, and for each source with a connector where its events go and what signs them. `ETag` is the revision; with `If-None-Match` the answer is a 304 as long as nothing of it has changed, rotated secrets included.",
    example: {}
  },
  reportCmsRuntime: {
    description:
      "Takes what the module runs by, found in its CMS and does: what is left out stays as it was reported. Fields without a name here are kept under `metadata` and counted. An `applied_revision` that is not published is a 409.",
    example: { body: { applied_revision: 0, discovery: { module_version: "1.0.0", cms_version: "5.2" } } }
  },
  pushCmsEvents: {
    description:
      "Takes up to 500 events of a source of the installation, as the source's connector takes signed pushes, and answers the same. A store or source that the configuration does not have, or one without a connector, is a 400.",
    example: { body: { store: "main", source: "catalogue", events: [{ external_id: "lamp-1", title: "Lamp" }] } }
  }
} as const satisfies Readonly<Record<string, Described>>
