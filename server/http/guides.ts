import { builtFiles } from './built-files.ts';

/** A guide that was made of its Markdown, such as `zh/webhooks.html`; made once, see `builtFiles`. */
export const readGuideFile = builtFiles<string>('guides', 'guide-thread');
