export interface Fault {
  readonly name: string
  /** What goes wrong with it, in one line. */ readonly why: string
  readonly file: string
  /** Occurs exactly once. */ readonly from: string
  readonly to: string
  /** Files of tests, at least one of which must fail. */ readonly tests: ReadonlyArray<string>
  /** Part of a test's title, where the other tests of the files take long. */ readonly only?: string
}
export declare const faults: ReadonlyArray<Fault>
