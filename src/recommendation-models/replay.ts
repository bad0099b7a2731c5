/** The job that rebuilds an organization's models: requested by `src/events`, run by `src/recommendations`. */
export const REPLAY = "recommendation_replay"
