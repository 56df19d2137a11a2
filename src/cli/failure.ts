/** Why a command failed, as the command line words it. */
import { optionName } from '../entity/fields.ts'
import { withCommands } from '../entity/show.ts'
import type { Inputs } from '../operator/action.ts'
import { isMisfit, refusalBlock, type OperatorRefusal } from '../operator/refused.ts'
import { troubleOf } from '../operator/trouble.ts'
import { blockText } from './present.ts'

/** Why a command failed, and what to do instead. The command line exits with 1. */
export class Failure extends Error {}

/** The arguments cannot be understood: the command line exits with 2. */
export class WrongUsage extends Failure {}

/** `takes`: what the action takes, whose options the words name. */
export const failureOf = (refusal: OperatorRefusal, takes: Inputs = {}): Failure => {
  const text = blockText(refusalBlock(refusal, (field) => `--${optionName(field, takes[field] ?? {})}`))
  return isMisfit(refusal) ? new WrongUsage(text) : new Failure(text)
}

/** A usual failure of a database or a key service, with what to do; another error as it is. */
export function asFailure(error: unknown): unknown {
  const trouble = error instanceof Failure ? undefined : troubleOf(error)
  if (!trouble) return error
  const { says, advice } = trouble
  return new Failure(advice === undefined ? says : `${says} ${withCommands(advice)}`)
}
