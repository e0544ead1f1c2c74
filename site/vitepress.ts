/**
 * Checks that VitePress reads the settings as they are meant: the type check of `npm run docs`, which has installed it.
 */
import type { UserConfig } from 'vitepress'
import config from './.vitepress/config.ts'

config satisfies UserConfig
