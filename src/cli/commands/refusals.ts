/** Refusals as the command line words them. */
import { optionName } from '../../entity/fields.ts'
import { isMisfit, refusalBlock, type OperatorRefusal } from '../../operator/refused.ts'
import { blockText } from './present.ts'
import { Failure, WrongUsage } from './failure.ts'

export const failureOf = (refusal: OperatorRefusal): Failure => {
  const text = blockText(refusalBlock(refusal, (field) => `--${optionName(field, {})}`))
  return isMisfit(refusal) ? new WrongUsage(text) : new Failure(text)
}
