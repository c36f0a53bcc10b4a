"""Words of negation in 18 languages, for the key "negations" (DESIGN.md, section 5): pronouns, adverbs and particles.

Each word is one folded token; `docs/must-agree.md` shows the same lists. An apostrophe separates: "don't" is "don" and "t",
"n'est" is "n" and "est", so the lists have "t" and "n". Each Chinese character is a token, so that list has characters.
Negation inside a word (the prefix of "unable", the suffix of Turkish "gelmedi") is not found, except in the Turkish words
listed. A word of one language may mean something else in another; then more texts differ, never fewer.
"""

from __future__ import annotations

LANGUAGES = {
    "English": "no not none nor never neither nobody nothing nowhere cannot without t dont doesnt didnt isnt "
               "arent wasnt werent cant couldnt wont wouldnt shouldnt",
    "German": "nicht nichts kein keine keinem keinen keiner keines nie niemals niemand niemandem niemanden nirgends "
              "nirgendwo weder ohne nein",
    "French": "non ne n pas jamais rien aucun aucune aucuns aucunes nul nulle nullement personne guère point ni sans",
    "Spanish": "no nunca jamás nada nadie ningún ninguno ninguna ningunos ningunas ni tampoco sin",
    "Portuguese": "não nunca jamais nada ninguém nenhum nenhuma nenhuns nenhumas nem tampouco sem",
    "Italian": "no non né mai niente nulla nessun nessuno nessuna neanche nemmeno neppure senza",
    "Dutch": "nee niet niets niks geen nooit niemand nergens noch zonder",
    "Swedish": "nej inte ej icke ingen inget inga ingenting aldrig ingenstans varken utan",
    "Danish": "nej ikke ej ingen intet ingenting aldrig ingensteds hverken uden",
    "Norwegian": "nei ikke ikkje ingen inkje intet inga ingenting aldri ingensteds verken uten utan",
    "Polish": "nie nigdy nic niczego nikt nikogo nikomu żaden żadna żadne żadnego żadnej nigdzie ani bez brak",
    "Czech": "ne není nejsou nikdy nic ničeho nikdo nikoho nikomu žádný žádná žádné žádného nikde ani bez",
    "Russian": "не нет ни никогда ничего ничто никто никого никому никакой никакая никакое никакие нигде нельзя без",
    "Ukrainian": "не ні ані нема немає ніколи нічого ніщо ніхто нікого нікому ніякий жоден жодна жодне ніде без",
    "Turkish": "değil değildir hayır yok yoktur hiç hiçbir asla ne",
    "Arabic": "لا لم لن ليس ليست ليسوا ما غير بدون دون بلا عدم",
    "Hindi": "नहीं न ना मत नही बिना",
    "Chinese": "不 没 沒 无 無 非 未 别 別 勿 莫 否",
}
