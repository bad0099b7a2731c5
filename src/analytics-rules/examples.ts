/** Descriptions of the analytics-rule operations, each with a request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

export const described = {
  listAnalyticsRules: {
    description:
      "Lists the organization's analytics rules, all of them or those with the tag `rule_tag`. An organization has at most 100 rules, so there are no pages.",
    example: { query: { rule_tag: "homepage" } }
  },
  createAnalyticsRule: {
    description:
      "Creates one rule, or several when the body is an array: then each has its own answer, and a refused one is `{error}`. Rules count from their creation and never backwards. A name that is taken, a collection or a field that does not exist and a wrong parameter are 400.",
    example: {
      body: {
        name: "top_queries",
        type: "popular_queries",
        collection: "products",
        event_type: "search",
        params: { destination_collection: "popular_queries", limit: 1000 }
      }
    }
  },
  getAnalyticsRule: {
    description: "Shows one analytics rule by its name. An unknown name is a 404.",
    example: { params: { ruleName: "product_clicks" } }
  },
  upsertAnalyticsRule: {
    description:
      "Creates a rule under the name in the path (201), or changes an existing one (200). Only the tag and the parameters of an existing rule can change; its type, collection and event type stay, so that its counts keep their meaning.",
    example: {
      params: { ruleName: "product_clicks" },
      body: {
        type: "counter",
        collection: "products",
        event_type: "click",
        params: { counter_field: "popularity", weight: 2 }
      }
    }
  },
  deleteAnalyticsRule: {
    description:
      "Deletes a rule together with what it has counted or kept. Documents that it wrote into a destination collection stay where they are. An unknown name is a 404.",
    example: { params: { ruleName: "old_rule" } }
  },
  getAnalyticsEvents: {
    description:
      "Shows the events of one user that a log rule kept, newest first. `name` is the rule and `n` how many to show, at most 1,000. A rule keeps its newest 10,000 events, none longer than 30 days; a rule that does not exist is a 404.",
    example: { query: { name: "logged_clicks", user_id: "visitor-17", n: "20" } }
  }
} as const satisfies Readonly<Record<string, Described>>
