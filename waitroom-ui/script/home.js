// Shows the times on the on-sales page in the reader's format. The page works without this script.
import { ready } from "./core.js";

ready();
