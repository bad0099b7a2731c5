/** What the person who starts the program chooses, for rooms that need it. */
import { Context } from "effect"
import type { Weights } from "@dowser/streams/runner/weights"

export class Installation extends Context.Service<
  Installation,
  {
    /** Header in which a proxy in front names the visitor's country, lower case. */ readonly countryHeader:
      | string
      | undefined
    /** The service's own: free organizations may list its subdomains as origins of keys. */ readonly serviceDomain:
      | string
      | undefined
    /** Of organizations, where they share what is counted a second. */ readonly weights: Weights | undefined
    /** Of the visitor topics. */ readonly visitorPartitions: number
    /** Folder of what recommendations keep, this process's own; undefined: nothing is kept over a restart. */
    readonly recommendationsPath?: string | undefined
    /** No other process uses this database. */ readonly isAlone: boolean
  }
>()("dowser/Installation") {}
