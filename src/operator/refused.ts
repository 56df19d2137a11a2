/** An operator's wish that cannot be met. The message says why, and what to do instead. */
export class Refused extends Error {}

/** What was asked for cannot be read as a wish: the command line ends with 2 instead of 1. */
export class WrongUsage extends Refused {}
