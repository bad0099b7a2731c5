/**
 * Descriptions of the operations on ingest jobs, each with an example request that succeeds (`src/http/operation.ts`).
 */
import type { Described } from "../http/operation.ts"
import { sampleIds } from "../api/sample-ids.ts"

export const described = {
  reindexCollection: {
    description:
      "Starts a job that exports every document of a collection and imports it again, so that changed fields and embeddings are picked up; searches continue meanwhile. The answer is the queued job. A collection has one reindex at a time: another is a 409 that names the job.",
    example: { params: { collectionName: "products" }, body: { action: "upsert" } }
  },
  createIngestJob: {
    description:
      "Queues a job that imports the documents of a `source` into a collection, and returns the queued job: `yml`, `csv`, `google_xml` and `jsonl` read a feed at `config.url` (at most 500 MB) or in `config.content` (at most 1,000,000 characters), `inline` the list `config.documents`, `url` the pages of a site along their links (`start_urls`, `max_pages` up to 10,000, `max_depth` up to 5, `include` and `exclude` as globs), `sitemap` the pages of a sitemap, `youtube` the videos of a `channel_id` or `playlist_id` or chunks of `captions`, and `reindex` the collection itself. Pages that cannot be read are errors of the job, not its failure; a secret in the config (`api_key`) is never shown. `config.create_collection: true` creates a missing collection (404 otherwise); after a complete pass without failures, `config.full: true` deletes every document that the feed does not have, unless that is more than 30 % of them and `config.confirm_deletes` is not `true`. `schedule_cron` (five fields, UTC) repeats a source that has an address; an organization has at most 20 waiting or running jobs, another is a 409.",
    example: {
      body: {
        name: "Autumn lamps",
        collection: "products",
        source: "inline",
        config: { documents: [{ id: "lamp-1", title: "Reading lamp" }] }
      }
    }
  },
  listIngestJobs: {
    description:
      "Lists ingest jobs of the collections that the key reaches, newest first. A page has at most 250 (50 by default); `status` selects one state.",
    example: { query: { limit: "20", status: "ready" } }
  },
  getIngestJob: {
    description:
      "Shows an ingest job: its state, its progress from 0 to 1, what it has read, written and refused, and the first 100 errors. Poll it until `status` is `ready`, `failed` or `cancelled`. An unknown id is a 404.",
    example: { params: { jobId: sampleIds.job } }
  },
  cancelIngestJob: {
    description:
      "Stops an unfinished ingest job within two seconds; what it has written stays. A finished job is answered as it ended. If it is the latest job of a schedule, the schedule ends too. An unknown id is a 404.",
    example: { params: { jobId: sampleIds.job } }
  },
  uploadIngestFeed: {
    description:
      "Takes a feed as the body, stores it while it arrives and returns the job that imports it. `format` is `yml`, `jsonl`, `csv` or `google_xml`; `full`, `create_collection`, `confirm_deletes` and `id_field` are as in a job's config. A body without `Content-Length` is a 411, one of more than 500 MB a 413, both before it is read. Waiting and running feeds of an organization may take 2 GB, 409 beyond.",
    example: {
      query: { collection: "products", format: "csv" },
      body: "id,title\nlamp-2,Desk lamp\n"
    }
  },
  createIngestUpload: {
    description:
      "Begins a resumable upload by the protocol tus 1.0: `Tus-Resumable: 1.0.0` and `Upload-Length` are headers of the request, `Location` and `Upload-Expires` of the answer. The query is as in `uploadIngestFeed`. More than 500 MB is a 413. An unfinished upload is deleted after 24 hours.",
    example: {
      query: { collection: "products", format: "jsonl" },
      headers: { "tus-resumable": "1.0.0", "upload-length": "30" }
    }
  },
  getIngestUpload: {
    description:
      "Shows how much of a resumable upload has arrived, in the body and as `Upload-Offset` and `Upload-Length`; once it is complete, also the job that imports it. An unknown id is a 404, an expired one a 410.",
    example: { params: { uploadId: sampleIds.upload } }
  },
  appendIngestUpload: {
    description:
      "Appends the body to a resumable upload. `Upload-Offset` must match what has arrived, otherwise 409; `Upload-Checksum` (sha1, sha256, md5) is verified, otherwise 460 and none of the body is kept. What arrived before a connection broke is kept, and the last byte starts the job, whose id is in `X-Ingest-Job`. An upload accepts one request at a time, another is a 423.",
    example: {
      params: { uploadId: sampleIds.upload },
      headers: { "tus-resumable": "1.0.0", "upload-offset": "0", "content-type": "application/offset+octet-stream" },
      body: '{"id":"lamp-3","title":"Floor"'
    }
  },
  deleteIngestUpload: {
    description:
      "Cancels a resumable upload and deletes what has arrived; a complete upload belongs to its job and stays. An unknown id is a 404.",
    example: { params: { uploadId: sampleIds.oldUpload }, headers: { "tus-resumable": "1.0.0" } }
  }
} as const satisfies Readonly<Record<string, Described>>
