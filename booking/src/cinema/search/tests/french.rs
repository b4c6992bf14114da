//! Tests the search in a programme of eighty invented French films. The titles have elisions,
//! hyphens and accents, and the keywords have one edit in a word.

use super::*;

const TITLES: [&str; 80] = [
    "L'ÉTOILE DU PORT",
    "L'Été de Jeanne",
    "Un après-midi sans fin",
    "La Maison d'en face",
    "Le Rendez-vous des hirondelles",
    "L’Horloger de Saint-Malo",
    "Les Parapluies jaunes",
    "Qu'est-ce qu'on attend ?",
    "Cœur de verre",
    "L'Œuvre inachevée",
    "La Fille du boulanger",
    "Aujourd'hui peut-être",
    "Le Garçon à la bicyclette rouge",
    "Les Amants de la rue Lepic",
    "Jusqu'à l'aube",
    "Une chambre à Montmartre",
    "Le Dernier Tramway",
    "Mademoiselle Colette",
    "L'Île aux oiseaux",
    "Le Chat sous la pluie",
    "La Nuit des lampions",
    "Trois jours en novembre",
    "L'Apprenti sorcier de Belleville",
    "Les Vendanges tardives",
    "Un dimanche à l'opéra",
    "Grand-mère voyage",
    "Le Silence des vignes",
    "D'amour et d'eau fraîche",
    "Le Facteur ne passe plus",
    "L'Inconnue du quai",
    "Sous les marronniers",
    "La Dernière Valse d'Hélène",
    "Monsieur Pivoine",
    "Le Château d'argile",
    "Quatre mains, un piano",
    "L'École buissonnière",
    "Les Cerisiers de Kyoto",
    "Brouillard sur la Loire",
    "Le Voleur de parfums",
    "Adieu, capitaine !",
    "Une saison aux Batignolles",
    "L'Ours et la ballerine",
    "Les Enfants du phare",
    "Le Train de minuit vingt",
    "Petite musique d'hiver",
    "L'Écume et le sel",
    "Chez Madame Rosalie",
    "Les Oubliés de la falaise",
    "Le Jardin suspendu",
    "Tout va très bien, Simone",
    "L'Embarcadère",
    "La Traversée du silence",
    "Mes voisins les fantômes",
    "Le Bal des pompiers",
    "Une lettre pour Antoine",
    "L'Affaire Dubreuil",
    "Les Nuages de Camargue",
    "Demi-tour",
    "Le Violoncelle brisé",
    "Aux portes du désert",
    "La Balade de Théophile",
    "L'Arrière-boutique",
    "Les Lumières d'Arles",
    "Vingt-quatre chandelles",
    "Le Marchand de couleurs",
    "Ni vu ni connu",
    "La Cuisine de Marguerite",
    "L'Hôtel des brumes",
    "Pas de deux à Toulouse",
    "Le Temps des myrtilles",
    "Les Sœurs Lantier",
    "Rouge coquelicot",
    "L'Écharpe oubliée",
    "Par-delà les collines",
    "Le Gardien du musée",
    "Noël à Strasbourg",
    "Un pêcheur d'Audierne",
    "Les Mystères du grenier",
    "La Lune dans l'encrier",
    "Qui a peur du facteur ?",
];

/// How many films at the top of the results count. People read no further.
const READ: usize = 3;

fn programme() -> ProgrammeIndex {
    one_of_each(&TITLES.map(ToOwned::to_owned))
}

/// Returns the ids of the first showings for a keyword, in the order of a search without `sort`.
fn first_found(index: &ProgrammeIndex, keyword: &str) -> Vec<String> {
    let query = ShowingQuery {
        keyword: Some(keyword.to_owned()),
        sort: ShowingSort::Match,
        per_page: READ,
        ..all()
    };
    found(index, &query)
}

/// Returns the words of at least five letters, each with the text before and after it.
fn long_words(title: &str) -> Vec<(&str, &str, &str)> {
    let mut words = Vec::new();
    let mut rest = 0;
    for word in title.split(|char: char| !char.is_alphabetic()) {
        let at = rest + title[rest..].find(word).expect("a part of the title");
        rest = at + word.len();
        if word.chars().count() >= 5 {
            words.push((&title[..at], word, &title[rest..]));
        }
    }
    words
}

/// Makes one edit in a word. `kind` decides whether a letter is inserted, deleted, replaced or
/// swapped with the next one.
fn edited(word: &str, kind: usize, dice: &mut ChaCha8Rng) -> String {
    let mut chars: Vec<char> = word.chars().collect();
    let at = dice.random_range(0..chars.len() - 1);
    let letter = char::from(dice.random_range(b'a'..=b'z'));
    match kind {
        0 => chars.insert(at, letter),
        1 => drop(chars.remove(at)),
        2 => chars[at] = letter,
        _ => chars.swap(at, at + 1),
    }
    chars.into_iter().collect()
}

#[test]
fn one_edit_in_a_word_of_a_french_title_still_finds_it_among_the_first_three() {
    let index = programme();
    let mut dice = ChaCha8Rng::seed_from_u64(3);
    for (what, whole) in [("word alone", false), ("whole title", true)] {
        let (mut tried, mut missed) = (0, Vec::new());
        for (at, title) in TITLES.iter().enumerate() {
            for (before, word, after) in long_words(title) {
                for kind in 0..4 {
                    let word = edited(word, kind, &mut dice);
                    let typed = if whole {
                        format!("{before}{word}{after}")
                    } else {
                        word
                    };
                    tried += 1;
                    if !first_found(&index, &typed).contains(&format!("show-{at}")) {
                        missed.push((title, typed));
                    }
                }
            }
        }
        #[expect(clippy::print_stdout, reason = "the figure is a result of this test")]
        {
            let found = tried - missed.len();
            println!("FIGURE one edit in a French {what}: {found} of {tried} in the first three");
        }
        assert!(
            missed.len() * 20 <= tried,
            "{what}: {} of {tried}: {missed:?}",
            missed.len()
        );
    }
}

#[test]
fn elisions_hyphens_and_accents_do_not_hide_a_title() {
    let index = programme();
    for (typed, title) in [
        ("etoile", "L'ÉTOILE DU PORT"),
        ("letoile du port", "L'ÉTOILE DU PORT"),
        ("l etoile", "L'ÉTOILE DU PORT"),
        ("horloger", "L’Horloger de Saint-Malo"),
        ("saint malo", "L’Horloger de Saint-Malo"),
        ("saintmalo", "L’Horloger de Saint-Malo"),
        ("midi", "Un après-midi sans fin"),
        ("apres midi", "Un après-midi sans fin"),
        ("rendezvous", "Le Rendez-vous des hirondelles"),
        ("amour", "D'amour et d'eau fraîche"),
        ("oeuvre", "L'Œuvre inachevée"),
        ("coeur", "Cœur de verre"),
        ("aujourdhui", "Aujourd'hui peut-être"),
        ("jusqu'a l'aube", "Jusqu'à l'aube"),
        ("aube", "Jusqu'à l'aube"),
        ("ile aux", "L'Île aux oiseaux"),
        ("qu'est ce qu'on", "Qu'est-ce qu'on attend ?"),
        ("grandmere", "Grand-mère voyage"),
        ("Noel", "Noël à Strasbourg"),
    ] {
        let at = TITLES.iter().position(|known| *known == title);
        let expected = format!("show-{}", at.expect("a title"));
        let found = first_found(&index, typed);
        assert_eq!(found.first(), Some(&expected), "{typed}: {found:?}");
    }
}
