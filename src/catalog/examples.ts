/**
 * Descriptions of the operations on collections and what belongs to them, each with an example request that succeeds
 * (`src/http/operation.ts`).
 */
import type { Described } from "../http/operation.ts"

const resource =
  "One value has at most 65,536 bytes and a list 1 MB; the plan bounds how many named resources there are (403 with `feature` and `limit`)."

export const described = {
  getCollections: {
    description:
      "Lists the collections that the key reaches, newest first, with the number of their documents. `limit` and `offset` select a part, `exclude_fields=fields` omits the schemas.",
    example: { query: { exclude_fields: "fields", limit: "20" } }
  },
  createCollection: {
    description:
      "Creates an empty collection from a schema, or from that of another collection with `src_name`, including its documents if `copy_documents` is set. A name that is taken is a 409, an invalid schema a 400. The plan bounds the number of collections and of fields; beyond that the answer is 403 with `feature` and `limit`.",
    example: {
      body: {
        name: "shoes",
        fields: [
          { name: "title", type: "string" },
          { name: "brand", type: "string", facet: true },
          { name: "price", type: "float" }
        ],
        default_sorting_field: "price"
      }
    }
  },
  getCollection: {
    description:
      "Shows the schema of a collection and the number of its documents. An alias works in place of the name. An unknown name is a 404; one outside the key's collections is a 403 whether it exists or not.",
    example: { params: { collectionName: "products" } }
  },
  updateCollection: {
    description:
      "Changes a live collection: adds fields, drops them with `drop`, or replaces `metadata`, `synonym_sets` and `curation_sets`. Existing documents are checked against the new fields first; if one does not fit, nothing changes and the answer is 400. A change that breaks an active search profile is a 409 that names it, unless `force=true`.",
    example: {
      params: { collectionName: "products" },
      body: { fields: [{ name: "color", type: "string", facet: true, optional: true }], metadata: { season: "winter" } }
    }
  },
  listSchemaChanges: {
    description:
      "Shows schema changes in progress that rewrite documents: how many documents there were at the beginning, and how many are checked and written. Searches use the old schema until all are done. The list is empty when nothing is in progress, and for engines that change a schema in one step.",
    example: {}
  },
  deleteCollection: {
    description:
      "Drops a collection with all its documents and returns its last schema. This cannot be undone. Aliases that point to it stay, and point nowhere until they are moved.",
    example: { params: { collectionName: "old_products" } }
  },
  indexDocument: {
    description:
      "Stores one document, which is searchable when the answer arrives. `action` is `create` (the default; an id that is taken is a 409), `upsert`, `update` or `emplace`. A document that does not fit the schema is a 400 unless `dirty_values` says to coerce or drop; the plan bounds documents and stored bytes.",
    example: {
      params: { collectionName: "products" },
      query: { action: "upsert" },
      body: {
        id: "p100",
        title: "Enamel mug",
        brand: "Hearth",
        category: "Kitchen",
        price: 14.5,
        popularity: 3,
        discontinued: false
      }
    }
  },
  importDocuments: {
    description:
      "Stores many documents, one JSON object per line, and returns one result per line in the same order. The status is 200 even if lines were refused, so read the results. The body may be of any length: it is read as it arrives, and the answer streams meanwhile.",
    example: {
      params: { collectionName: "products" },
      query: { action: "upsert" },
      body: '{"id":"p101","title":"Linen apron","brand":"Hearth","category":"Kitchen","price":32,"popularity":5,"discontinued":false}\n{"id":"p102","title":"Oak board","brand":"Grain","category":"Kitchen","price":45,"popularity":8,"discontinued":false}\n'
    }
  },
  exportDocuments: {
    description:
      "Streams the documents of a collection as JSON Lines, in order of insertion. `filter_by` selects documents, `include_fields` and `exclude_fields` their parts. An export of any size needs little memory here, and a filter that names an unknown field is a 400.",
    example: {
      params: { collectionName: "products" },
      query: { filter_by: "category:=Kitchen", include_fields: "id,title,price" }
    }
  },
  getDocument: {
    description:
      "Shows one document by its id, whole or in part with `include_fields` and `exclude_fields`. An unknown id is a 404.",
    example: { params: { collectionName: "products", documentId: "p1" }, query: { include_fields: "title,price" } }
  },
  updateDocument: {
    description:
      "Changes the given fields of one document and leaves the others as they are. The next search finds the change. An unknown id is a 404; a value that does not fit its field is a 400 unless `dirty_values` says otherwise.",
    example: { params: { collectionName: "products", documentId: "p1" }, body: { price: 19.9 } }
  },
  deleteDocument: {
    description:
      "Deletes one document and returns its content. An unknown id is a 404, or a success with `ignore_not_found=true`. Documents of other collections that lose their last reference are deleted too, unless their field says `cascade_delete: false`.",
    example: { params: { collectionName: "products", documentId: "p9" } }
  },
  updateDocuments: {
    description:
      "Changes the given fields of every document that `filter_by` matches and returns their number. Without a filter the request is a 400.",
    example: { params: { collectionName: "products" }, query: { filter_by: "brand:=Hearth" }, body: { popularity: 10 } }
  },
  deleteDocuments: {
    description:
      "Deletes every document that `filter_by` matches and returns their number; `return_id` and `return_doc` show which. Emptying a whole collection takes `truncate=true`. A request with neither is a 400.",
    example: { params: { collectionName: "products" }, query: { filter_by: "discontinued:=true", return_id: "true" } }
  },
  listAliases: {
    description: "Lists the aliases of the organization with their collections. It changes nothing.",
    example: {}
  },
  getAlias: {
    description: "Shows which collection an alias points to. An unknown alias is a 404.",
    example: { params: { aliasName: "shop" } }
  },
  upsertAlias: {
    description: `Points an alias to a collection, creating it where there is none. The change is one step: a search meets the old collection or the new one, never neither, which is how a rebuilt catalogue is put in place. ${resource}`,
    example: { params: { aliasName: "shop" }, body: { collection_name: "products" } }
  },
  deleteAlias: {
    description: "Deletes an alias; its collection is not affected. An unknown alias is a 404.",
    example: { params: { aliasName: "old_shop" } }
  },
  listPresets: { description: "Lists the stored search parameters of the organization.", example: {} },
  getPreset: {
    description: "Shows the search parameters that are stored under a name. An unknown name is a 404.",
    example: { params: { presetId: "listing" } }
  },
  upsertPreset: {
    description: `Stores search parameters under a name, which a search then takes with \`preset=<name>\`; parameters of the search itself win, and filters of both hold. ${resource}`,
    example: {
      params: { presetId: "listing" },
      body: { value: { query_by: "title,brand", facet_by: "brand,category", sort_by: "popularity:desc" } }
    }
  },
  deletePreset: {
    description: "Deletes stored search parameters. Searches that still name them continue without them.",
    example: { params: { presetId: "old_listing" } }
  },
  synonym: {
    list: { description: "Lists the synonym sets of the organization with their items.", example: {} },
    get: {
      description: "Shows a synonym set with its items. An unknown name is a 404.",
      example: { params: { setName: "clothing" } }
    },
    upsert: {
      description: `Stores a synonym set, replacing the one of that name as a whole. Collections use it once their \`synonym_sets\` name it, or a search does. ${resource}`,
      example: {
        params: { setName: "clothing" },
        body: {
          items: [
            { id: "coat", synonyms: ["coat", "jacket", "parka"] },
            { id: "trainers", root: "shoe", synonyms: ["trainers", "sneakers"] }
          ]
        }
      }
    },
    delete: {
      description: "Deletes a synonym set with its items and returns its name. An unknown name is a 404.",
      example: { params: { setName: "old_clothing" } }
    },
    listItems: {
      description:
        "Lists the items of one synonym set, a part of them with `limit` and `offset`. An unknown set is a 404.",
      example: { params: { setName: "clothing" }, query: { limit: "10" } }
    },
    getItem: {
      description: "Shows one item of a synonym set. An unknown set or item is a 404.",
      example: { params: { setName: "clothing", itemId: "coat" } }
    },
    upsertItem: {
      description:
        "Stores one item of a synonym set, replacing the item of that id and leaving the others. With `root`, a search for the root also finds the synonyms, but not the other way round; without it, each finds all. An unknown set is a 404.",
      example: { params: { setName: "clothing", itemId: "hat" }, body: { synonyms: ["hat", "cap", "beanie"] } }
    },
    deleteItem: {
      description: "Deletes one item of a synonym set. An unknown set or item is a 404.",
      example: { params: { setName: "clothing", itemId: "hat" } }
    }
  },
  curation: {
    list: { description: "Lists the curation sets of the organization with their items.", example: {} },
    get: {
      description: "Shows a curation set with its items. An unknown name is a 404.",
      example: { params: { setName: "campaigns" } }
    },
    upsert: {
      description: `Stores a curation set, replacing the one of that name as a whole. Each item has a rule and what happens when it matches: documents pinned or hidden, a filter, a sort, another query. ${resource}`,
      example: {
        params: { setName: "campaigns" },
        body: {
          items: [
            {
              id: "winter",
              rule: { query: "coat", match: "contains" },
              includes: [{ id: "p1", position: 1 }],
              excludes: [{ id: "p4" }]
            }
          ]
        }
      }
    },
    delete: {
      description: "Deletes a curation set with its items and returns its name. An unknown name is a 404.",
      example: { params: { setName: "old_campaigns" } }
    },
    listItems: {
      description:
        "Lists the items of one curation set, a part of them with `limit` and `offset`. An unknown set is a 404.",
      example: { params: { setName: "campaigns" }, query: { limit: "10" } }
    },
    getItem: {
      description: "Shows one item of a curation set. An unknown set or item is a 404.",
      example: { params: { setName: "campaigns", itemId: "winter" } }
    },
    upsertItem: {
      description:
        "Stores one item of a curation set, replacing the item of that id and leaving the others. A rule without an action, or with neither a query nor a filter to match, is a 400; an unknown set is a 404.",
      example: {
        params: { setName: "campaigns", itemId: "mugs" },
        body: { rule: { query: "mug", match: "exact" }, includes: [{ id: "p2", position: 1 }] }
      }
    },
    deleteItem: {
      description: "Deletes one item of a curation set. An unknown set or item is a 404.",
      example: { params: { setName: "campaigns", itemId: "mugs" } }
    }
  },
  listStopwords: { description: "Lists the stopword sets of the organization.", example: {} },
  getStopwords: {
    description: "Shows a stopword set. An unknown id is a 404.",
    example: { params: { setId: "english" } }
  },
  upsertStopwords: {
    description: `Stores a stopword set, replacing the one of that id. A search leaves its words out with \`stopwords=<id>\`. ${resource}`,
    example: { params: { setId: "english" }, body: { stopwords: ["the", "of", "a"], locale: "en" } }
  },
  deleteStopwords: {
    description: "Deletes a stopword set. An unknown id is a 404.",
    example: { params: { setId: "old_english" } }
  },
  listStemmingDictionaries: { description: "Lists the ids of the organization's stemming dictionaries.", example: {} },
  getStemmingDictionary: {
    description: "Shows a stemming dictionary with its words and roots. An unknown id is a 404.",
    example: { params: { dictionaryId: "plurals" } }
  },
  deleteStemmingDictionary: {
    description: "Deletes a stemming dictionary and returns its id. Give fields that name it another one first.",
    example: { params: { dictionaryId: "old_plurals" } }
  },
  importStemmingDictionary: {
    description: `Adds words and their roots to the dictionary \`id\`, one \`{word, root}\` a line, and answers the lines as they were taken. A field uses it with \`stem_dictionary\`. ${resource}`,
    example: { query: { id: "plurals" }, body: '{"word":"mice","root":"mouse"}\n{"word":"geese","root":"goose"}\n' }
  }
} as const satisfies Readonly<Record<string, Described | Readonly<Record<string, Described>>>>
