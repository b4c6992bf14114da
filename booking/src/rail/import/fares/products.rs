//! Reads Fares V2: the products in `fare_products.txt`, and with `leg_rules` where they apply.
//!
//! Read are the prices that an adult pays: those without a rider category, and those of the
//! category that `rider_categories.txt` marks as the default. Negative amounts are discounts on
//! changes of trains, so no ride has them as its price.

use std::collections::HashMap;

use fairgate_model::counted::counted;

use super::super::draft::FeedNameIndex;
use super::super::table::{FeedTableLine, each_line};
use super::amount::{FareCurrency, read_amount};
use super::leg_rules::LegRules;
use super::selection::FareSelection;
use super::{FareContext, FareRules, FeedFare, LEG_RULES, PRODUCTS, names_in_short};

const CATEGORIES: &str = "rider_categories.txt";

/// How many products a note names, at most.
const NAMES_MAX: usize = 5;

/// The products of a feed.
#[derive(Default)]
pub struct FareProducts {
    /// The index of each product by its id.
    pub names: FeedNameIndex,
    /// The fares of each product that are sold: one for each price.
    pub prices: Vec<Vec<u32>>,
}

/// Reads the fares of a feed that has `fare_products.txt` or `fare_leg_rules.txt`.
pub fn read_fares(
    context: &FareContext<'_>,
    currency: &mut FareCurrency,
    selection: &mut FareSelection<'_>,
) -> (Vec<FeedFare>, FareRules) {
    let mut reader = ProductReader {
        categories: RiderCategories::read(context),
        currency: &mut *currency,
        selection: &mut *selection,
        seen: HashMap::new(),
        products: FareProducts::default(),
        fares: Vec::new(),
        of_other_riders: Vec::new(),
        discounts: Vec::new(),
    };
    let columns = ["fare_product_id", "amount", "currency"];
    let read = each_line(context.folder, PRODUCTS, &columns, context.faults, |line| {
        reader.read_line(line);
    });
    reader.note_left_out(context);
    let ProductReader {
        mut products,
        fares,
        ..
    } = reader;
    products.names.incomplete = !read;
    if !read {
        currency.set_unreadable();
        selection.incomplete = true;
    }
    let rules = if context.is_there(LEG_RULES) {
        LegRules::read(context, &products)
    } else {
        let message = format!("{PRODUCTS} gives no ride a price, because {LEG_RULES} is missing");
        context.faults.note(message);
        LegRules::default()
    };
    (fares, FareRules::Legs(rules))
}

/// The products that were read so far.
struct ProductReader<'a, 'b> {
    categories: RiderCategories,
    currency: &'a mut FareCurrency,
    selection: &'a mut FareSelection<'b>,
    /// The line of each product, rider category and medium.
    seen: HashMap<[String; 3], u64>,
    products: FareProducts,
    fares: Vec<FeedFare>,
    /// The products whose prices for other riders than adults are left out.
    of_other_riders: Vec<String>,
    /// The products whose negative amounts are left out.
    discounts: Vec<String>,
}

impl ProductReader<'_, '_> {
    fn read_line(&mut self, line: &FeedTableLine<'_>) {
        let id = line.needed("fare_product_id");
        let category = line.get("rider_category_id");
        let for_adults = category.is_empty() || self.categories.is_default(line, category);
        let text = line.needed("amount");
        let discount = text.and_then(|text| text.strip_prefix('-'));
        let medium = line.get("fare_media_id");
        let product = id.unwrap_or_default();
        let name = match medium {
            "" => product.to_owned(),
            medium => format!("{product}/{medium}"),
        };
        let read = for_adults && discount.is_none();
        let sold = read && self.selection.admits([product, &name]);
        let currency = self.currency.read(line, "currency", sold);
        let amount = discount
            .or(text)
            .zip(currency)
            .and_then(|(text, currency)| read_amount(line, "amount", text, currency));
        let Some(id) = id else { return };
        let key = [id, category, medium].map(ToOwned::to_owned);
        if let Some(first) = self.seen.insert(key, line.number) {
            let message = format!(
                "the product {id:?} already has a price for this rider category and medium in line {first}"
            );
            line.fault("duplicate_id", message);
            return;
        }
        let at = self.index_of(line, id);
        if read {
            if sold {
                let fare = u32::try_from(self.fares.len()).unwrap_or(u32::MAX);
                self.products.prices[at as usize].push(fare);
            }
            self.fares.push(FeedFare {
                id: name,
                amount: amount.unwrap_or_default(),
                transfers: 0,
                sold,
            });
            return;
        }
        self.selection.leave_unread(id);
        self.selection.leave_unread(&name);
        let left_out = if for_adults {
            &mut self.discounts
        } else {
            &mut self.of_other_riders
        };
        left_out.push(format!("{name:?}"));
    }

    fn index_of(&mut self, line: &FeedTableLine<'_>, id: &str) -> u32 {
        let products = &mut self.products;
        products.names.get(id).unwrap_or_else(|| {
            let at = u32::try_from(products.prices.len()).unwrap_or(u32::MAX);
            products.prices.push(Vec::new());
            products.names.alias(id, at, line.number);
            at
        })
    }

    /// Adds notes about the prices that were left out.
    fn note_left_out(&self, context: &FareContext<'_>) {
        for (names, why) in [
            (
                &self.of_other_riders,
                "only the default rider category is read",
            ),
            (&self.discounts, "a negative amount is no price of a ride"),
        ] {
            if names.is_empty() {
                continue;
            }
            context.faults.note(format!(
                "{PRODUCTS}: {} left out, because {why}: {}",
                counted(names.len(), "price is", "prices are"),
                names_in_short(names, NAMES_MAX)
            ));
        }
    }
}

/// The rider categories of a feed, each with whether it is the default.
struct RiderCategories {
    names: FeedNameIndex,
    defaults: Vec<bool>,
}

impl RiderCategories {
    fn read(context: &FareContext<'_>) -> Self {
        let mut names = FeedNameIndex::default();
        let mut defaults = Vec::new();
        if context.is_there(CATEGORIES) {
            let columns = ["rider_category_id"];
            let faults = context.faults;
            let read = each_line(context.folder, CATEGORIES, &columns, faults, |line| {
                let id = line.needed("rider_category_id");
                let default = line.get("is_default_fare_category");
                if !["", "0", "1"].contains(&default) {
                    let message = format!("is_default_fare_category is {default:?}; it is 0 or 1");
                    line.fault("bad_number", message);
                }
                let at = u32::try_from(defaults.len()).unwrap_or(u32::MAX);
                if let Some(id) = id
                    && names.register_name(line, "rider category", id, at)
                {
                    defaults.push(default == "1");
                }
            });
            names.incomplete = !read;
        }
        Self { names, defaults }
    }

    /// Returns whether a category is the default. Adds a fault if there is no such category.
    fn is_default(&self, line: &FeedTableLine<'_>, id: &str) -> bool {
        let at = self.names.resolve_name(line, "rider category", id);
        at.is_some_and(|at| self.defaults[at as usize])
    }
}
