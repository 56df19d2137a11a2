/** One task in several languages, from files that the tests run. */

// oxfmt-ignore
const languages: readonly (readonly [name: string, tag: string, file: (name: string) => string])[] = [
  ['TypeScript', 'ts',     (name) => `examples/${name}.ts`],
  ['PHP',        'php',    (name) => `examples/php/${name}.php`],
  ['Python',     'python', (name) => `examples/python/${name}.py`],
  ['curl',       'sh',     (name) => `examples/curl/${name}.sh`],
]

export const sampleComment = /^<!-- samples: ([\w-]+) -->$/m

/** `<!-- samples: sale -->` becomes a block for each language that has the sample. */
export const expandSamples = (text: string, sampleOf: (file: string) => string | undefined): string =>
  text.replaceAll(new RegExp(sampleComment, 'gm'), (all, name: string) => {
    const blocks = languages.flatMap(([, tag, file]) => {
      const sample = sampleOf(file(name))
      return sample === undefined ? [] : [`\`\`\`${tag} sample=${file(name)}\n${sample.trimEnd()}\n\`\`\``]
    })
    if (blocks.length === 0) throw new Error(`${all}: no language has this sample`)
    return blocks.join('\n\n')
  })

/** The name of a language, by the tag of its block. */
export const languageOf = (tag: string): string => languages.find(([, one]) => one === tag)?.[0] ?? tag
