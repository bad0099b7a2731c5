/**
 * Ids in the examples of operations, shaped as the program makes them. A reader puts in ids of their own; the test that
 * sends the examples puts in those of the organization that it furnished.
 */
export const sampleIds = {
  organization: "org_01KAQ5V8Z3N4M6T7W9X0Y1B2C1",
  /** One more, that is paused, resumed and given a plan. */ otherOrganization: "org_01KAQ5V8Z3N4M6T7W9X0Y1B2C2",
  key: "key_01KAQ5V8Z3N4M6T7W9X0Y1B2D1",
  leakedKey: "key_01KAQ5V8Z3N4M6T7W9X0Y1B2D2",
  webhook: "whk_01KAQ5V8Z3N4M6T7W9X0Y1B2E1",
  oldWebhook: "whk_01KAQ5V8Z3N4M6T7W9X0Y1B2E2",
  delivery: "dlv_01KAQ5V8Z3N4M6T7W9X0Y1B2F1",
  job: "job_01KAQ5V8Z3N4M6T7W9X0Y1B2G1",
  suite: "qst_01KAQ5V8Z3N4M6T7W9X0Y1B2J1",
  oldSuite: "qst_01KAQ5V8Z3N4M6T7W9X0Y1B2J2",
  alert: "alr_01KAQ5V8Z3N4M6T7W9X0Y1B2K1",
  oldAlert: "alr_01KAQ5V8Z3N4M6T7W9X0Y1B2K2",
  recommendationModel: "rec_01KAQ5V8Z3N4M6T7W9X0Y1B2L1",
  oldRecommendationModel: "rec_01KAQ5V8Z3N4M6T7W9X0Y1B2L2",
  member: "mem_01KAQ5V8Z3N4M6T7W9X0Y1B2H1",
  formerMember: "mem_01KAQ5V8Z3N4M6T7W9X0Y1B2H2",
  experiment: "exp_01KAQ5V8Z3N4M6T7W9X0Y1B2L1",
  oldExperiment: "exp_01KAQ5V8Z3N4M6T7W9X0Y1B2L2",
  otherExperiment: "exp_01KAQ5V8Z3N4M6T7W9X0Y1B2L3",
  runningExperiment: "exp_01KAQ5V8Z3N4M6T7W9X0Y1B2L4",
  stoppedExperiment: "exp_01KAQ5V8Z3N4M6T7W9X0Y1B2L5",
  promotedExperiment: "exp_01KAQ5V8Z3N4M6T7W9X0Y1B2L6",
  seoRule: "seo_01KAQ5V8Z3N4M6T7W9X0Y1B2M1",
  oldSeoRule: "seo_01KAQ5V8Z3N4M6T7W9X0Y1B2M2",
  release: "rel_01KAQ5V8Z3N4M6T7W9X0Y1B2J1",
  connector: "con_01KAQ5V8Z3N4M6T7W9X0Y1B2N1",
  oldConnector: "con_01KAQ5V8Z3N4M6T7W9X0Y1B2N2",
  upload: "fed_01KAQ5V8Z3N4M6T7W9X0Y1B2P1",
  oldUpload: "fed_01KAQ5V8Z3N4M6T7W9X0Y1B2P2"
} as const
