/** Settings of the program's operator, for rooms that need them. */
import { Context } from "effect"
import type { Weights } from "@dowser/streams/runner/weights"

export class Installation extends Context.Service<
  Installation,
  {
    /** Header in which a proxy in front sends the visitor's country, in lower case. */ readonly countryHeader:
      | string
      | undefined
    /** The service's domain: free organizations may list subdomains as origins of keys. */ readonly serviceDomain:
      | string
      | undefined
    /** Weights of organizations for sharing what is limited per second. */ readonly weights: Weights | undefined
    /** Number of partitions of the visitor topics. */ readonly visitorPartitions: number
    /** Folder for this process's recommendation state; undefined: nothing is kept over a restart. */
    readonly recommendationsPath?: string | undefined
    /** Whether no other process uses this database. */ readonly isAlone: boolean
  }
>()("dowser/Installation") {}
