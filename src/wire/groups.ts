/** Groups of operations, each a tag of the OpenAPI document with the sentence that explains it. The console's twins have groups of their own. */
export const groups = {
  collections: "Schemas of what can be searched, and their rebuild.",
  documents: "Records of a collection, one at a time, by filter, or as JSON Lines.",
  aliases: "Second names of collections, moved from one to another in one step.",
  presets: "Search parameters stored under a name.",
  "synonym sets": "Words that find each other.",
  "curation sets": "Documents pinned, hidden or filtered for a query, applied by the engine.",
  stopwords: "Words that a search leaves out.",
  stemming: "Dictionaries that reduce words to a root.",
  search: "Searching one collection or several.",
  "search rules": "Merchandising of a collection, and its preview.",
  "ingest jobs": "Jobs that write many documents.",
  jobs: "Everything that goes on after its request was answered.",
  events: "What visitors do: reported, repaired, replayed and erased.",
  entitlement: "What the plan covers and what is left of it.",
  analytics: "Figures of searches, products and filters.",
  "analytics rules": "Rules that count or keep events.",
  suggestions: "Completions of what is typed, and prompts before it.",
  keys: "API keys and short-lived keys for browsers.",
  audit: "Who changed what, and when.",
  webhooks: "Endpoints that are told of events, and what was delivered to them.",
  gateway: "What the search gateway can do.",
  "gateway search": "Searching with the keys of storefronts.",
  "gateway documents": "Documents pushed by connectors.",
  health: "Probes, and the operator's view of every part.",
  organizations: "Tenants, for who runs the installation.",
  "console sessions": "Signing in and out of the console.",
  members: "People of an organization and their roles.",
  demo: "The demo shop.",
  reference: "These documents and the page that shows them."
} as const
type Own = keyof typeof groups
export type Group = Own | `console: ${Own}`

/** Of any group; a group that is not listed would have no sentence, so there is none. */
export const groupSentence = (group: Group): string => {
  const own = group.startsWith("console: ") ? group.slice("console: ".length) as Own : group as Own
  return own === group ? groups[own] : `For the console, by organization: ${groups[own]}`
}
