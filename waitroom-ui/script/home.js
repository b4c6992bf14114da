// The on-sales page works without this: it only turns times into the reader's own.
import { ready } from "./core.js";

ready();
