// Suggests stations while a visitor types. The search for trains works without this script.

import { $ } from "./core.js";
import { Stations } from "./stations.js";

for (const end of ["from", "to"]) new Stations($(end), $(`${end}-list`));
